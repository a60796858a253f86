package wire

// Report is what the tracker knows about a command when its response has ended.
type Report struct {
	Command Command
	Code    uint16 // the error number if it failed, else 0
	Status  Status // of the session, as the server said last; an error says nothing about it
	Started int64  // as given to Begin

	Statement uint32 // what the server calls the statement that was prepared, if one was
}

// Failed reports whether the command was answered with an error.
func (r Report) Failed() bool { return r.Code != 0 }
