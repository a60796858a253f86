package ttl

import (
	"fmt"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// budget is how fast rows of a table should be deleted, by the options of its policy. Zero means
// that they do not say.
type budget struct {
	rate  int64 // TTL_DELETE_RATE: rows per second
	batch int   // TTL_DELETE_BATCH_SIZE
}

// budgetOf reads what was checked when the policy was declared; an error means that another version
// wrote it.
func budgetOf(p catalog.Policy) (b budget, err error) {
	for name, value := range p.Rule.Options {
		switch name {
		case ddl.OptionDeleteRate:
			b.rate, err = strconv.ParseInt(value, 10, 64)
		case ddl.OptionBatchSize:
			b.batch, err = strconv.Atoi(value)
		}
		if err != nil {
			return b, fmt.Errorf("option %s='%s' of %s: %w", name, value, p.Table, err)
		}
	}
	return b, nil
}
