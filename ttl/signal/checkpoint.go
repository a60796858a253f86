package signal

import (
	"cmp"
	"context"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// checkpoint is how much of the redo log is in use: changes whose pages are not yet written. When
// it is full, every writer waits until pages have been flushed.
type checkpoint struct{}

func (checkpoint) Name() string { return "checkpoint_age" }

func (checkpoint) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := l.Settings.Int(setting.ThrottleCheckpoint)
	if most == 0 {
		return nil, nil
	}

	v, err := status(ctx, l.Server, "Innodb_checkpoint_age", "Innodb_checkpoint_max_age", // MariaDB's
		"Innodb_redo_log_current_lsn", "Innodb_redo_log_checkpoint_lsn", "Innodb_redo_log_capacity_resized")
	if err != nil {
		return nil, err
	}

	// MariaDB says at what age it makes writers wait; MySQL does so an eighth before the end.
	age := cmp.Or(v["innodb_checkpoint_age"], v["innodb_redo_log_current_lsn"]-v["innodb_redo_log_checkpoint_lsn"])
	all := cmp.Or(v["innodb_checkpoint_max_age"], v["innodb_redo_log_capacity_resized"]*7/8)
	if all == 0 {
		return notSeen("the server does not say how much of its redo log is in use"), nil
	}
	return []Reading{{
		State: Measured, Value: 100 * age / all, Threshold: float64(most), Unit: "%",
		Detail: "of the redo log that may be in use",
	}}, nil
}
