package signal

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// lockWaits is how many statements wait for rows, on average since the last look. The engine does not
// wait for rows, so these are the application's; some always do where everybody wants the same row,
// so what is usual while the engine rests is added to what is tolerated.
type lockWaits struct {
	waited speed
	usual  usual
}

func (*lockWaits) Name() string { return "lock_waits" }

func (w *lockWaits) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := l.Settings.Int(setting.ThrottleLockWaits)
	if most == 0 {
		return nil, nil
	}

	v, err := status(ctx, l.Server, "Innodb_row_lock_time", "Innodb_row_lock_current_waits")
	if err != nil {
		return nil, err
	}

	milliseconds, known := w.waited.per(v["innodb_row_lock_time"])
	// The time is added when a wait ends: who still waits counts as well.
	waiting := max(milliseconds/1e3, v["innodb_row_lock_current_waits"])
	w.usual.resume(l.Led)
	if l.Resting && known {
		w.usual.learn(waiting)
	}
	return []Reading{{
		State: Measured, Value: waiting, Threshold: float64(most) + w.usual.mean, Unit: "statements",
	}}, nil
}
