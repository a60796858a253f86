package report

import (
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
)

var statusColumns = []Column{
	{Name: "Variable_name", Type: Name},
	{Name: "Value", Type: LongText},
}

// Status is SHOW TTL STATUS: the whole on one screen.
func Status(s *Snapshot, lineage catalog.Lineage) List {
	l := List{Name: "ttl_status", Columns: statusColumns, Like: "Variable_name"}
	say := func(name, value string) { l.add(catalog.Table{}, name, value) }
	count := func(name string, n int) { say(name, strconv.Itoa(n)) }

	for _, p := range lineageProperties(lineage) {
		say(strings.ReplaceAll(p[0], " ", "_"), p[1])
	}

	say("Deleting", onOff(s.Halt() == Halt{}))
	say("Halted_by", s.Halt().Why)
	say("Speed", s.speed())
	say("Slowed_by", s.slowedBy())
	live, engines := s.LiveNodes()
	count("Nodes", live)
	count("Engines", engines)
	stopped, _ := s.stoppedEngines()
	count("Engines_stopped", len(stopped))
	say("Stopped_by", s.SomeStopped())
	count("Policies", len(s.Policies))

	for _, v := range s.verdicts() {
		count("Tables_"+v.name, v.count)
	}

	count("Jobs_open", len(s.Jobs))
	tasks, finished := 0, 0
	for i := range s.Jobs {
		tasks, finished = tasks+s.Jobs[i].Tasks, finished+s.Jobs[i].TasksFinished
	}

	count("Tasks_open", tasks-finished)
	return l
}

// LiveNodes counts the live nodes, and those of them that have an engine.
func (s *Snapshot) LiveNodes() (live, engines int) {
	for _, n := range s.Nodes {
		if n.Live {
			live++
			if n.Engine {
				engines++
			}
		}
	}
	return live, engines
}

type verdictCount struct {
	word  Word
	name  string
	count int
}

// verdicts counts tables and partitions by verdict, in the order of the words.
func (s *Snapshot) verdicts() []verdictCount {
	counts := []verdictCount{
		{word: KeepingUp, name: "keeping_up"},
		{word: FallingBehind, name: "falling_behind"},
		{word: Waiting, name: "waiting"},
		{word: Paused, name: "paused"},
		{word: WindowClosed, name: "waiting_for_window"},
		{word: NeedsApproval, name: "needing_approval"},
		{word: Disarmed, name: "disarmed"},
		{word: Off, name: "off"},
	}

	for _, w := range s.Work() {
		word := Judge(w).Word
		for i := range counts {
			if counts[i].word == word {
				counts[i].count++
			}
		}
	}

	return counts
}
