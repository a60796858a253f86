package checkup

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// ownSchema tries what a migration and the engine do, on a table whose name nobody else can have.
func (c *check) ownSchema(ctx context.Context) error {
	const name = "own schema"
	if c.untried(name) {
		return nil
	}

	try := c.probe
	if c.store == nil {
		try = c.glance
	}
	err := try(ctx)
	return c.tried(err, Error, name, "the account has the rights it needs in it",
		fmt.Sprintf("the account lacks a right in schema %s: %v", c.cfg.Schema, err), "ttlproxy init prints the GRANT")
}

// untried reports whether nothing can be written here, and says that for that reason rights are not tried: the server
// would refuse whatever they are.
func (c *check) untried(name string) bool {
	if c.still != "" {
		c.bad(Warning, name, "the rights were not tried: "+c.still, "ttlproxy check again, once it can be written")
	}
	return c.still != ""
}

// glance tries to read where there is no catalog: the schema may not exist, and this is not the time to create it.
func (c *check) glance(ctx context.Context) error {
	_, err := c.db.ExecContext(ctx, probeTable+ddl.QuoteTable(c.cfg.Schema, probeName()))
	if refused(err, ddl.CodeNoTable, ddl.CodeNoDatabase, ddl.CodeBadTable) {
		return nil
	}
	return err
}

// probe changes what nobody else has, and what earlier ones may have left behind.
func (c *check) probe(ctx context.Context) error {
	if err := c.sweep(ctx, probeAge); err != nil {
		return err
	}
	return c.carryOut(ctx, probeSchema)
}

// carryOut runs statements about a probe. It leaves none behind, as far as it has the right to drop it.
func (c *check) carryOut(ctx context.Context, steps []string) error {
	name := probeName()
	for _, q := range steps {
		if err := c.about(ctx, name, q); err != nil {
			c.drop(context.WithoutCancel(ctx), name)
			return err
		}
	}
	return nil
}

// probeName is the name of a new probe.
func probeName() string { return catalog.ProbePrefix + strings.ToLower(rand.Text()) }

// about runs a statement about a probe.
func (c *check) about(ctx context.Context, name, query string) error {
	_, err := c.db.ExecContext(ctx, strings.NewReplacer(
		"{probe}", ddl.QuoteTable(c.cfg.Schema, name), "{view}", ddl.QuoteTable(c.cfg.Schema, name+"_view"),
	).Replace(query))
	return err
}

// drop drops a probe if it may. What is left is swept by a later checkup.
func (c *check) drop(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, q := range dropProbe {
		_ = c.about(ctx, name, q)
	}
}

// probeAge is after how long a probe is nobody's: no checkup takes so long.
const probeAge = time.Hour

// sweep drops the probes that earlier checkups could not drop.
func (c *check) sweep(ctx context.Context, age time.Duration) error {
	old, err := c.texts(ctx, selectProbes, c.cfg.Schema, age.Seconds())
	if err != nil {
		return fmt.Errorf("look for old probes: %w", err)
	}
	for _, name := range old {
		c.drop(ctx, name)
	}
	return nil
}
