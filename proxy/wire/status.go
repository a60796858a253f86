package wire

// Status is the set of flags with which a server describes the session at the end of a response.
type Status uint16

// The flags that matter to somebody between the client and the server.
const (
	InTransaction         Status = 0x0001
	Autocommit            Status = 0x0002
	MoreResults           Status = 0x0008
	CursorExists          Status = 0x0040
	LastRowSent           Status = 0x0080
	NoBackslashEscapes    Status = 0x0200
	OutParameters         Status = 0x1000
	InReadOnlyTransaction Status = 0x2000
	SessionStateChanged   Status = 0x4000
)

// Has reports whether all of want are set.
func (s Status) Has(want Status) bool { return s&want == want }

// InTransaction reports whether a transaction is open, for reading or for writing.
func (s Status) InTransaction() bool { return s&(InTransaction|InReadOnlyTransaction) != 0 }
