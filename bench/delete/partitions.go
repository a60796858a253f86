package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// spent is what it cost to let the expired rows of a table go that are one partition.
type spent struct {
	took, jobs    time.Duration // from the declaration on, and from the first job's start, each to the last one's end
	binlog, files int64         // bytes that were written, and that are left
}

// partitions compares deleting a partition's rows with letting it go whole.
func partitions(ctx context.Context, flavour sandbox.Flavour, o options, out io.Writer) error {
	b, err := newBench(ctx, flavour, o)
	if err != nil {
		return err
	}
	defer b.close(context.WithoutCancel(ctx))

	b.going, b.jobs = b.rows/2, 3 // the partitions before and after it have one, too
	index := "an index on the date"
	if o.unindexed {
		index = "no " + index[len("an "):]
	}
	fmt.Fprintf(out, "%s %s, %d rows of about 200 bytes, the expired half is a partition, %s, fastest of %d runs\n",
		flavour, b.version, o.rows, index, o.runs)
	for _, how := range []string{"", ddl.PartitionDrop, ddl.PartitionTruncate, ddl.PartitionExchange} {
		name := how
		if how == "" {
			name = "by rows"
		}
		if !o.wants(way{name: name}) {
			continue
		}

		var best spent
		for range o.runs {
			s, err := b.depart(ctx, how)
			if err != nil {
				return fmt.Errorf("%q: %w", how, err)
			}
			if best.took == 0 || s.took < best.took {
				best = s
			}
		}

		fmt.Fprintf(out,
			"  %-9s %8.2f s, of which jobs %6.2f s %12d bytes of binary log, files of %6.0f MB are left\n", name,
			best.took.Seconds(), best.jobs.Seconds(), best.binlog, float64(best.files)/1e6)
	}
	return nil
}

// depart fills the table anew and lets its expired rows go.
func (b *bench) depart(ctx context.Context, how string) (s spent, err error) {
	if err := b.divide(ctx); err != nil {
		return s, err
	}
	if err := b.exec(ctx, "FLUSH BINARY LOGS"); err != nil {
		return s, err
	}

	before, err := b.written(ctx)
	if err != nil {
		return s, err
	}
	if _, s.took, err = engineBy(ctx, b, map[string]string{ddl.OptionPartition: how}); err != nil {
		return s, err
	}

	if s.jobs, err = b.jobsTook(ctx); err != nil {
		return s, err
	}

	after, err := b.written(ctx)
	if err != nil {
		return s, err
	}
	s.binlog = after - before
	s.files, err = b.files(ctx)
	return s, err
}

// divide makes the table, with the expired rows in a partition of their own.
func (b *bench) divide(ctx context.Context) error {
	drop, err := b.column(ctx, "SELECT CONCAT('"+schema+".`', table_name, '`') FROM information_schema.tables "+
		"WHERE table_schema = '"+schema+"' AND table_name LIKE 'ttlproxy%'")
	if err != nil {
		return err
	}
	for _, side := range drop {
		if err := b.exec(ctx, "DROP TABLE "+side); err != nil {
			return err
		}
	}

	key := ", ADD KEY (made)"
	if b.unindexed {
		key = ""
	}
	if err := b.exec(ctx, "DROP TABLE IF EXISTS "+schema+".t", "CREATE TABLE "+schema+".t LIKE "+schema+".template",
		"ALTER TABLE "+schema+".t DROP PRIMARY KEY, ADD PRIMARY KEY (id, made)"+key+" "+
			"PARTITION BY RANGE COLUMNS (made) (PARTITION p_older VALUES LESS THAN ('2019-01-01'), "+
			"PARTITION p_expired VALUES LESS THAN ('2021-01-01'), PARTITION p_now VALUES LESS THAN ('2036-01-01'), "+
			"PARTITION p_later VALUES LESS THAN (MAXVALUE))",
		"INSERT INTO "+schema+".t SELECT * FROM "+schema+".template", "ANALYZE TABLE "+schema+".t"); err != nil {
		return err
	}
	return b.rest(ctx)
}

func (b *bench) column(ctx context.Context, query string) (all []string, err error) {
	rows, err := b.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// jobsTook is how long the jobs took by the history, which the server's clock has written.
func (b *bench) jobsTook(ctx context.Context) (time.Duration, error) {
	var micros int64
	err := b.db.QueryRowContext(ctx, "SELECT TIMESTAMPDIFF(MICROSECOND, MIN(created_at), MAX(finished_at)) FROM "+
		schema+"_catalog.job_history").Scan(&micros)
	return time.Duration(micros) * time.Microsecond, err
}

// written is the size of the binary log.
func (b *bench) written(ctx context.Context) (bytes int64, err error) {
	rows, err := b.db.QueryContext(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		var name, size any
		var n int64
		into := []any{&name, &n, &size}
		if err := rows.Scan(into[:len(columns)]...); err != nil {
			return 0, err
		}
		bytes += n
	}
	return bytes, rows.Err()
}

// files is the size of the table's files, and of those of what has become of its partitions.
func (b *bench) files(ctx context.Context) (bytes int64, err error) {
	from := "innodb_tablespaces"
	if b.mariadb {
		from = "innodb_sys_tablespaces"
	}
	err = b.db.QueryRowContext(ctx, "SELECT COALESCE(SUM(file_size), 0) FROM information_schema."+from+
		" WHERE name LIKE '"+schema+"/t#%' OR name LIKE '"+schema+"/ttlproxy%'").Scan(&bytes)
	return bytes, err
}
