package signal

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// threads is how many statements the server is executing. Those of the engine are among them: a few
// at most.
type threads struct{}

func (threads) Name() string { return "threads_running" }

func (threads) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := l.Settings.Int(setting.ThrottleThreads)
	if most == 0 {
		return nil, nil
	}

	v, err := status(ctx, l.Server, "Threads_running")
	if err != nil {
		return nil, err
	}
	running, there := v["threads_running"]
	if !there {
		return nil, errors.New("the server does not say how many threads are running")
	}
	return []Reading{{State: Measured, Value: running, Threshold: float64(most)}}, nil
}
