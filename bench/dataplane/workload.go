package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// workload is something that clients do over and over.
type workload struct {
	name        string
	connections []int
	secured     bool // also with TLS on either leg
	steers      bool // its figures are in the median to steer by
	prepare     string
	once        func(ctx context.Context, c *client) error
}

var workloads = []workload{
	{name: "point select", connections: []int{1, 8, 64}, secured: true, steers: true, once: asks(func() string {
		return fmt.Sprintf("SELECT pad FROM %s.t WHERE id = %d", schema, 1+rand.IntN(rows))
	})},
	{name: "range of 100", connections: []int{1, 8, 64}, secured: true, steers: true, once: asks(rangeOf100)},
	{
		name: "prepared", connections: []int{8}, once: execute,
		prepare: "SELECT pad FROM " + schema + ".t WHERE id = ?",
	},
	{name: "1 KiB up", connections: []int{8}, once: asks(long(1 << 10))},
	{name: "16 KiB up", connections: []int{8}, secured: true, once: asks(long(16 << 10))},
	{name: "64 KiB up", connections: []int{8}, once: asks(long(64 << 10))},
	{name: "SHOW, passed", connections: []int{8}, once: asks(func() string { return "SHOW TABLES FROM " + schema })},
	{name: "SHOW, held", connections: []int{8}, once: asks(func() string {
		return "SHOW CREATE TABLE " + schema + ".t"
	})},
	{name: "dump of 20 MB", connections: []int{1}, secured: true, once: asks(func() string {
		return "SELECT * FROM " + schema + ".t"
	})},
	{name: "load of 20 MB", connections: []int{1}, once: load},
	{name: "login", connections: []int{8}, secured: true, once: comeAndGo},
}

func rangeOf100() string {
	from := 1 + rand.IntN(rows-100)
	return fmt.Sprintf("SELECT id, pad FROM %s.t WHERE id BETWEEN %d AND %d", schema, from, from+99)
}

// asks is a workload of queries.
func asks(next func() string) func(context.Context, *client) error {
	return func(_ context.Context, c *client) error { return c.query(next()) }
}

// long is a statement whose text is what is carried: nothing of it is stored, which would measure
// the server's disk.
func long(size int) func() string {
	text := "SELECT LENGTH('" + strings.Repeat("x", size-20) + "')"
	return func() string { return text }
}

// execute executes what was prepared.
func execute(_ context.Context, c *client) error {
	payload := binary.LittleEndian.AppendUint32([]byte{byte(wire.Execute)}, c.prepared)
	payload = append(payload, 0, 1, 0, 0, 0, 0, 1, 3, 0) // no cursor, once, no NULL, the types: an INT
	payload = binary.LittleEndian.AppendUint32(payload, uint32(1+rand.IntN(rows)))
	_, err := c.command(payload)
	return err
}

// load sends a file of which the server keeps nothing.
func load(_ context.Context, c *client) error {
	return c.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE " + schema + ".t CHARACTER SET binary " +
		"IGNORE 1000000000 LINES (pad)")
}

// comeAndGo logs in and leaves.
func comeAndGo(ctx context.Context, c *client) error {
	again, err := dial(ctx, c.address, c.secured)
	if err != nil {
		return err
	}
	return again.quit()
}
