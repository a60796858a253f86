package wire

import (
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Our constants are written down by hand; go-mysql's were too, by other hands.
func TestConstantsAgreeWithGoMySQL(t *testing.T) {
	t.Parallel()
	commands := map[Command]byte{
		Quit: mysql.COM_QUIT, InitDB: mysql.COM_INIT_DB, Query: mysql.COM_QUERY, FieldList: mysql.COM_FIELD_LIST,
		Refresh: mysql.COM_REFRESH, Shutdown: mysql.COM_SHUTDOWN, Statistics: mysql.COM_STATISTICS,
		ProcessInfo: mysql.COM_PROCESS_INFO, ProcessKill: mysql.COM_PROCESS_KILL, Debug: mysql.COM_DEBUG,
		Ping: mysql.COM_PING, ChangeUser: mysql.COM_CHANGE_USER, BinlogDump: mysql.COM_BINLOG_DUMP,
		RegisterReplica: mysql.COM_REGISTER_SLAVE, Prepare: mysql.COM_STMT_PREPARE, Execute: mysql.COM_STMT_EXECUTE,
		SendLongData: mysql.COM_STMT_SEND_LONG_DATA, CloseStatement: mysql.COM_STMT_CLOSE,
		ResetStatement: mysql.COM_STMT_RESET, SetOption: mysql.COM_SET_OPTION, Fetch: mysql.COM_STMT_FETCH,
		BinlogDumpGTID: mysql.COM_BINLOG_DUMP_GTID, ResetConnection: mysql.COM_RESET_CONNECTION,
	}
	for ours, theirs := range commands {
		if byte(ours) != theirs {
			t.Errorf("%v: got %#x, want %#x", ours, byte(ours), theirs)
		}
	}

	capabilities := map[Capability]uint32{
		LongPassword: mysql.CLIENT_LONG_PASSWORD, FoundRows: mysql.CLIENT_FOUND_ROWS, LongFlag: mysql.CLIENT_LONG_FLAG,
		ConnectWithDB: mysql.CLIENT_CONNECT_WITH_DB, Compress: mysql.CLIENT_COMPRESS,
		LocalFiles: mysql.CLIENT_LOCAL_FILES,
		Protocol41: mysql.CLIENT_PROTOCOL_41, Interactive: mysql.CLIENT_INTERACTIVE, SSL: mysql.CLIENT_SSL,
		Transactions: mysql.CLIENT_TRANSACTIONS, SecureConnection: mysql.CLIENT_SECURE_CONNECTION,
		MultiStatements: mysql.CLIENT_MULTI_STATEMENTS, MultiResults: mysql.CLIENT_MULTI_RESULTS,
		PSMultiResults: mysql.CLIENT_PS_MULTI_RESULTS, PluginAuth: mysql.CLIENT_PLUGIN_AUTH,
		ConnectAttrs: mysql.CLIENT_CONNECT_ATTRS, PluginAuthLenenc: mysql.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA,
		ExpiredPasswords: mysql.CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS, SessionTrack: mysql.CLIENT_SESSION_TRACK,
		DeprecateEOF: mysql.CLIENT_DEPRECATE_EOF, OptionalMetadata: mysql.CLIENT_OPTIONAL_RESULTSET_METADATA,
		CompressZstd: mysql.CLIENT_ZSTD_COMPRESSION_ALGORITHM, QueryAttributes: mysql.CLIENT_QUERY_ATTRIBUTES,
		MultiFactor: mysql.MULTI_FACTOR_AUTHENTICATION,
	}
	for ours, theirs := range capabilities {
		if uint32(ours) != theirs {
			t.Errorf("capability: got %#x, want %#x", uint32(ours), theirs)
		}
	}

	types := map[Type]byte{
		TypeDouble: mysql.MYSQL_TYPE_DOUBLE, TypeLongLong: mysql.MYSQL_TYPE_LONGLONG, TypeDate: mysql.MYSQL_TYPE_DATE,
		TypeDatetime: mysql.MYSQL_TYPE_DATETIME, TypeString: mysql.MYSQL_TYPE_VAR_STRING,
		TypeBlob: mysql.MYSQL_TYPE_BLOB,
	}
	for ours, theirs := range types {
		if byte(ours) != theirs {
			t.Errorf("type: got %#x, want %#x", byte(ours), theirs)
		}
	}
}
