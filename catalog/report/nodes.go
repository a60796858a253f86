package report

import "github.com/ttlproxy/ttlproxy/catalog"

var nodeColumns = []Column{
	{Name: "Node_id", Type: Unsigned},
	{Name: "Name", Type: Text},
	{Name: "Address", Type: Text},
	{Name: "State", Type: Name},
	{Name: "Engine", Type: Name},
	{Name: "Workers", Type: Integer},
	{Name: "Running_tasks", Type: Integer},
	{Name: "Stopped", Type: Name},
	{Name: "Status", Type: LongText},
	{Name: "Version", Type: Text},
	{Name: "Server", Type: Text},
	{Name: "Started", Type: Time},
	{Name: "Last_beat", Type: Time},
	{Name: "Left_at", Type: Time},
}

// listNodes is SHOW TTL NODES: the proxies, with what they are doing.
func listNodes(s *Snapshot, tasks []catalog.Task) List {
	l := List{Name: "ttl_nodes", Columns: nodeColumns, Like: "Name"}
	busy := map[uint64]int64{}
	for i := range tasks {
		if tasks[i].State == catalog.TaskRunning {
			busy[tasks[i].Owner]++
		}
	}
	for _, n := range s.Nodes {
		l.add(catalog.Table{}, n.ID, n.Name, n.Address, nodeState(n), onOff(n.Engine), int64(n.Workers), busy[n.ID],
			orNull(string(n.Stop)), n.Status, n.Version, n.Server, n.StartedAt, n.HeartbeatAt, moment(n.LeftAt))
	}
	return l
}

func nodeState(n catalog.Node) string {
	switch {
	case n.Live:
		return "live"
	case !n.LeftAt.IsZero():
		return "left"
	default:
		return "silent"
	}
}
