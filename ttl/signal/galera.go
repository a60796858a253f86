package signal

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// flowControl is the share of the time in which a Galera cluster made all writers wait for its
// slowest member.
type flowControl struct{ paused speed }

func (*flowControl) Name() string { return "flow_control" }

func (f *flowControl) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := l.Settings.Int(setting.ThrottleFlowControl)
	if most == 0 {
		return nil, nil
	}

	v, err := wsrep(ctx, l.Server, "wsrep_flow_control_paused_ns")
	paused, there := v["wsrep_flow_control_paused_ns"]
	if err != nil || !there {
		return nil, err
	}

	nanoseconds, known := f.paused.per(paused)
	if !known {
		return []Reading{{State: NotSeen, Detail: "it has been looked at only once"}}, nil
	}
	return []Reading{{
		State: Measured, Value: nanoseconds / 1e9 * 100, Threshold: float64(most), Unit: "%",
		Detail: "of the time since the last look",
	}}, nil
}

// receiveQueue is how many transactions of other members a Galera node has yet to apply. When it is
// long, the cluster will soon wait for this one.
type receiveQueue struct{}

func (receiveQueue) Name() string { return "receive_queue" }

func (receiveQueue) Read(ctx context.Context, l Look) ([]Reading, error) {
	most := l.Settings.Int(setting.ThrottleReceiveQueue)
	if most == 0 {
		return nil, nil
	}

	v, err := wsrep(ctx, l.Server, "wsrep_local_recv_queue")
	length, there := v["wsrep_local_recv_queue"]
	if err != nil || !there {
		return nil, err
	}
	return []Reading{{State: Measured, Value: length, Threshold: float64(most), Unit: "transactions"}}, nil
}

// wsrep reads counters of a member of a Galera cluster; none of a server that is not one.
func wsrep(ctx context.Context, server Querier, name string) (map[string]float64, error) {
	v, err := status(ctx, server, "wsrep_cluster_size", name)
	if err != nil || v["wsrep_cluster_size"] == 0 {
		return nil, err
	}
	return v, nil
}
