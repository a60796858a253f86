package wire

import "fmt"

// Loss is why a tracker does not follow its session any more.
type Loss uint8

// The reasons.
const (
	NotLost       Loss = iota
	LostInStream       // the server sends its binlog, or the like: nothing is lost by that
	LostByCommand      // a command that is not known
	LostUnasked        // the server said something that answers nothing
	LostInAnswer       // a packet that cannot be where it is
	LostSilently       // the server has long answered what was still waited for
	LostInFile         // the client sent what may be a command or a file before it could know which
)

var losses = [...]string{
	NotLost: "none", LostInStream: "stream", LostByCommand: "command", LostUnasked: "unasked", LostInAnswer: "answer",
	LostSilently: "silence", LostInFile: "file",
}

// Losses are the names of all reasons for which a tracker may be lost.
func Losses() []string { return losses[NotLost+1:] }

func (l Loss) String() string { return losses[l] }

// Loss is why the tracker has lost its way, if it has.
func (t *Tracker) Loss() Loss { return t.loss }

// Place says where the tracker is: in the answer to which command, at what kind of packet, and how
// that begins.
func (t *Tracker) Place() string {
	command := "no command"
	if n := t.queue.len(); n > 0 && t.loss == LostByCommand {
		command = t.queue.back().command.String()
	} else if n > 0 {
		command = t.queue.front().command.String()
	}
	if t.nhead == 0 {
		return command + ", " + phaseNames[t.phase]
	}
	return fmt.Sprintf("%s, %s, 0x%02X and %d bytes", command, phaseNames[t.phase], t.head[0], t.length-1)
}

var phaseNames = [phases]string{
	idle: "idle", first: "first packet", definitions: "definition", definitionsEnd: "end of the definitions",
	rows: "row", single: "only packet", prepared: "first packet of a prepared statement", parameters: "parameter",
	parametersEnd: "end of the parameters", preparedColumns: "column", preparedColumnsEnd: "end of the columns",
	login: "login",
}
