package ddl

// The numbers of errors have one home, here, where every package may use them. Each check of an
// answer and each answer names its number; docs/reference/errors.md lists those that we answer
// with, and a test compares the two.

// The errors that statements are answered with. The first group is TiDB's own, the second MySQL's.
const (
	CodeUnsupportedColumn = 8148
	CodeColumnNeeded      = 8149
	CodeNoTTL             = 8150
	CodeTemporaryTable    = 8151
	CodeReferencedTable   = 8152
	CodeUnsupportedKey    = 8153
	CodeUnsupportedDDL    = 8200

	CodeNote                = 1003 // a note or warning beside an answer
	CodeTableExists         = 1050
	CodeUnknownColumn       = 1054
	CodeSyntax              = 1064
	CodeUnknownError        = 1105
	CodeUnknownVariable     = 1193
	CodeLockWait            = 1205
	CodeGlobalVariable      = 1229
	CodeWrongSetting        = 1231 // a value that a variable does not take
	CodeWrongType           = 1232
	CodeNotSession          = 1238
	CodeUnknownPrepared     = 1243
	CodeTruncated           = 1292
	CodeUnknownTimeZone     = 1298
	CodeWrongObject         = 1347
	CodeTooManyPrepared     = 1461
	CodeWrongValue          = 1525
	CodeReprepare           = 1615
	CodeNumberedTransaction = 1778 // it cannot be ended by a statement
)

// The errors that a login is answered with. What a client says itself when nobody answers, or TLS
// fails (2003, 2026), cannot be sent to one: libmariadb takes 2000 to 2999 from a server for a
// broken packet.
const (
	CodeTooManyConnections = 1040
	CodeHandshake          = 1043
	CodeAccessDenied       = 1045
	CodeTLS                = 1158 // the conversation broke off
	CodeTooManyOfUser      = 1203
	CodeOldClient          = 1251
	CodeCannotConnect      = 1429 // "unable to connect to foreign data source"
	CodeTLSRequired        = 3159
)
