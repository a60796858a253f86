package status

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// nodeView is one proxy.
type nodeView struct {
	ID        uint64     `json:"id"`
	Name      string     `json:"name"`
	Address   string     `json:"address"`
	Version   string     `json:"version"`
	Engine    bool       `json:"engine"`
	Workers   int        `json:"workers"`
	Tasks     int        `json:"tasks"`  // it works on
	Leader    bool       `json:"leader"` // starts the jobs of all
	Live      bool       `json:"live"`
	Stopped   string     `json:"stopped"` // why it deletes nothing, in a word
	Status    string     `json:"status"`  // the same in a sentence, or what slows it down
	Started   time.Time  `json:"started"`
	Heartbeat time.Time  `json:"heartbeat"`
	Left      *time.Time `json:"left"`
}

func viewNode(l *snapshot, n catalog.Node) nodeView {
	return nodeView{
		n.ID, n.Name, n.Address, n.Version, n.Engine, n.Workers, l.tasksOf(n.ID), l.leads(n.ID), n.Live, string(n.Stop),
		n.Status, n.StartedAt, n.HeartbeatAt, moment(n.LeftAt),
	}
}

// eventView is something that happened to a policy or a job.
type eventView struct {
	ID     uint64    `json:"id"`
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Schema string    `json:"schema"`
	Table  string    `json:"table"`
	Actor  string    `json:"actor"`
	Text   string    `json:"text"`
}

func viewEvent(e catalog.Event) eventView {
	return eventView{e.ID, e.At, string(e.Kind), e.Table.Schema, e.Table.Name, e.Actor, e.Text}
}

// errorView is a row that could not be deleted. Its key, and the reason, in which the server may quote what is in
// rows, are shown only to readers of them.
type errorView struct {
	Schema    string    `json:"schema"`
	Table     string    `json:"table"`
	Partition string    `json:"partition"`
	Key       string    `json:"key,omitempty"`
	Number    int       `json:"number"`
	Reason    string    `json:"reason,omitempty"`
	Attempts  uint64    `json:"attempts"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Next      time.Time `json:"next"`
}

func viewError(e catalog.RowError, who reader) errorView {
	return errorView{
		Schema: e.Table.Schema, Table: e.Table.Name, Partition: e.Partition, Key: secret(who, e.Key), Number: e.Number,
		Reason: secret(who, e.Reason), Attempts: e.Attempts, First: e.FirstAt, Last: e.LastAt, Next: e.NextTryAt,
	}
}
