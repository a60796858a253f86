package wire

// Capability is a set of protocol features. The lower half is MySQL's; the upper half is MariaDB's
// extended set, which travels in other bytes of the same packets and only where the MySQL bit is
// clear.
type Capability uint64

// The capabilities that change what the bytes mean, or that matter to a proxy.
const (
	LongPassword     Capability = 1 << 0 // its absence says "I speak MariaDB's extension"; the name is MySQL's
	FoundRows        Capability = 1 << 1
	LongFlag         Capability = 1 << 2
	ConnectWithDB    Capability = 1 << 3
	NoSchema         Capability = 1 << 4 // the schema in front of a table's name is ignored
	Compress         Capability = 1 << 5
	LocalFiles       Capability = 1 << 7
	IgnoreSpace      Capability = 1 << 8
	Protocol41       Capability = 1 << 9
	Interactive      Capability = 1 << 10
	SSL              Capability = 1 << 11
	Transactions     Capability = 1 << 13
	Reserved         Capability = 1 << 14
	SecureConnection Capability = 1 << 15
	MultiStatements  Capability = 1 << 16
	MultiResults     Capability = 1 << 17
	PSMultiResults   Capability = 1 << 18
	PluginAuth       Capability = 1 << 19
	ConnectAttrs     Capability = 1 << 20
	PluginAuthLenenc Capability = 1 << 21
	ExpiredPasswords Capability = 1 << 22
	SessionTrack     Capability = 1 << 23
	DeprecateEOF     Capability = 1 << 24
	OptionalMetadata Capability = 1 << 25
	CompressZstd     Capability = 1 << 26
	QueryAttributes  Capability = 1 << 27
	MultiFactor      Capability = 1 << 28

	Progress         Capability = 1 << 32 // MariaDB: progress reports inside error packets
	ComMulti         Capability = 1 << 33 // MariaDB: several commands in one packet; no server has it any more
	BulkOperations   Capability = 1 << 34 // MariaDB: COM_STMT_BULK_EXECUTE
	ExtendedMetadata Capability = 1 << 35 // MariaDB: one more string in each column definition
	CacheMetadata    Capability = 1 << 36 // MariaDB: definitions may be left out at a second EXECUTE
	BulkUnitResults  Capability = 1 << 37 // MariaDB: one result per row of a bulk execute
)

// Has reports whether all of want are set.
func (c Capability) Has(want Capability) bool { return c&want == want }

// mysqlHalf is MySQL's half of the set.
const mysqlHalf Capability = 1<<32 - 1

// Effective is what both sides of a connection may use: what the client asked for, of what the
// server offered. MariaDB's extensions count only if neither side set the bit that says "I am
// MySQL".
func Effective(client, server Capability) Capability {
	c := client & server
	if client.Has(LongPassword) || server.Has(LongPassword) {
		c &= mysqlHalf
	}
	return c
}
