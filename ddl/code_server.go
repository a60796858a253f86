package ddl

// The errors and notes that only servers answer with, and that something here depends on. Those of
// a batch, which are many and sorted by what follows from them, are in the engine's table of
// consequences.
const (
	CodeSnapshot        = 1020 // MariaDB: the row changed since the snapshot
	CodeSchemaDenied    = 1044
	CodeNotInCluster    = 1047
	CodeNoDatabase      = 1049
	CodeBadTable        = 1051
	CodeShutdown        = 1053
	CodeDuplicateColumn = 1060
	CodeDuplicateIndex  = 1061
	CodeDuplicateKey    = 1062
	CodeNoIndex         = 1091
	CodeNotLocked       = 1100 // by LOCK TABLES
	CodeUnknownTable    = 1109 // of information_schema
	CodeHostBlocked     = 1129 // after too many errors
	CodeHostRefused     = 1130
	CodeTableDenied     = 1142
	CodeColumnDenied    = 1143
	CodeNoTable         = 1146
	CodeSafeUpdates     = 1175
	CodeDeadlock        = 1213
	CodeRightNeeded     = 1227
	CodeNoParent        = 1452
	CodeNotPartitioned  = 1505
	CodeBinlogFormat    = 1665 // a write at READ COMMITTED in a session of the format STATEMENT
	CodeOutOfRange      = 1690
	CodeNoPassword      = 1698 // access denied without one
	CodeNoPartition     = 1735
	CodeMustChange      = 1820 // the password, before anything else
	CodeGroupConflict   = 3101 // MySQL, at COMMIT: another member of the group was first
	CodeLockNowait      = 3572 // MySQL: NOWAIT
	CodeCheckMySQL      = 3819
	CodeDuplicateCheck  = 3822
	CodeUnreadableText  = 3854 // MySQL: it cannot be converted from its character set
	CodeCheckMariaDB    = 4025
)
