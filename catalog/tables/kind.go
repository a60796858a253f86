package tables

// Kind is how values of a column are read, written and compared.
type Kind int

// The kinds of columns that can stand in a key or carry the time of a policy.
const (
	Unsupported Kind = iota // FLOAT, DOUBLE, JSON, GEOMETRY, VECTOR: never compared by us
	Number                  // integers and DECIMAL
	Bits                    // BIT, read and written as an unsigned number
	Ordinal                 // ENUM and SET, by the number behind the names
	Bytes                   // BINARY, VARBINARY, BLOB
	Text                    // CHAR, VARCHAR, TEXT, under their own collation
	Date
	Datetime
	Timestamp
	Time
	Year
	Named // UUID, INET4, INET6: the server's text form
)

var kinds = map[string]Kind{
	"tinyint": Number, "smallint": Number, "mediumint": Number, "int": Number, "bigint": Number, "decimal": Number,
	"bit": Bits, "enum": Ordinal, "set": Ordinal,
	"binary": Bytes, "varbinary": Bytes, "tinyblob": Bytes, "blob": Bytes, "mediumblob": Bytes, "longblob": Bytes,
	"char": Text, "varchar": Text, "tinytext": Text, "text": Text, "mediumtext": Text, "longtext": Text,
	"date": Date, "datetime": Datetime, "timestamp": Timestamp, "time": Time, "year": Year,
	"uuid": Named, "inet4": Named, "inet6": Named,
}

// kindOf maps DATA_TYPE of information_schema to a Kind.
func kindOf(dataType string) Kind { return kinds[dataType] }

// Temporal reports whether a column of this kind can carry the time of a policy.
func (k Kind) Temporal() bool { return k == Date || k == Datetime || k == Timestamp }
