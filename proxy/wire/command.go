package wire

import "strconv"

// Command is the first byte of what a client asks.
type Command byte

// The commands of MySQL and MariaDB, except those that every server answers with an error.
const (
	Sleep           Command = 0x00
	Quit            Command = 0x01
	InitDB          Command = 0x02
	Query           Command = 0x03
	FieldList       Command = 0x04
	CreateDB        Command = 0x05
	DropDB          Command = 0x06
	Refresh         Command = 0x07
	Shutdown        Command = 0x08
	Statistics      Command = 0x09
	ProcessInfo     Command = 0x0A
	ProcessKill     Command = 0x0C
	Debug           Command = 0x0D
	Ping            Command = 0x0E
	ChangeUser      Command = 0x11
	BinlogDump      Command = 0x12
	RegisterReplica Command = 0x15
	Prepare         Command = 0x16
	Execute         Command = 0x17
	SendLongData    Command = 0x18
	CloseStatement  Command = 0x19
	ResetStatement  Command = 0x1A
	SetOption       Command = 0x1B
	Fetch           Command = 0x1C
	BinlogDumpGTID  Command = 0x1E
	ResetConnection Command = 0x1F
	BulkExecute     Command = 0xFA // MariaDB
)

var commandNames = map[Command]string{
	Sleep: "sleep", Quit: "quit", InitDB: "init_db", Query: "query", FieldList: "field_list",
	CreateDB: "create_db", DropDB: "drop_db", Refresh: "refresh", Shutdown: "shutdown",
	Statistics: "statistics", ProcessInfo: "process_info", ProcessKill: "process_kill",
	Debug: "debug", Ping: "ping", ChangeUser: "change_user", BinlogDump: "binlog_dump",
	RegisterReplica: "register_replica", Prepare: "prepare", Execute: "execute",
	SendLongData: "send_long_data", CloseStatement: "close_statement", ResetStatement: "reset_statement",
	SetOption: "set_option", Fetch: "fetch", BinlogDumpGTID: "binlog_dump_gtid",
	ResetConnection: "reset_connection", BulkExecute: "bulk_execute",
}

// String names the command as logs and metrics do.
func (c Command) String() string {
	if s, ok := commandNames[c]; ok {
		return s
	}
	return "0x" + strconv.FormatUint(uint64(c), 16)
}
