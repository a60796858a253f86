package work

import (
	"log/slog"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// JobAttrs describe a job in the log.
func JobAttrs(j catalog.Job) []slog.Attr {
	return []slog.Attr{
		slog.Uint64("job", j.ID), slog.String("schema", j.Table.Schema), slog.String("table", j.Table.Name),
		slog.String("partition", j.Partition),
		slog.String("state", string(j.State)), slog.String("reason", j.Reason), slog.String("plan", j.Plan),
		slog.Int("tasks", j.Tasks), slog.String("cutoff", j.CutoffLiteral),
	}
}
