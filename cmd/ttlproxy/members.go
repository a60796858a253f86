package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/checkup"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// introduceMembers makes the other members of the backend list known to the catalog, now and then,
// so that a planned fail-over to one of them keeps policies armed. It also asks each which of its
// clients have vanished in the middle of a statement.
func (r *running) introduceMembers(ctx context.Context, store *catalog.Store) error {
	const interval = time.Minute
	tick := time.NewTicker(interval)
	defer tick.Stop()

	for {
		if members := r.members(r.backends); len(members) > 1 {
			for _, m := range members {
				if err := introduceOne(ctx, store, m); err != nil && ctx.Err() == nil {
					r.log.DebugContext(ctx, "a member of the backend list cannot be examined",
						slog.String("backend", m.Address), slog.Any("err", err))
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func introduceOne(ctx context.Context, store *catalog.Store, m proxy.Member) error {
	db, err := openMember(m)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := store.SweepMember(ctx, db); err != nil {
		return err
	}
	return store.Introduce(ctx, db)
}

// openMember returns a connection to one backend.
func openMember(m proxy.Member) (*sql.DB, error) {
	connector, err := catalog.Connector(m.Config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// inspect says of one backend whether it can be used, and whom it will see when clients come
// through a proxy on this machine.
func inspect(ctx context.Context, m proxy.Member) checkup.Finding {
	f := checkup.Finding{Name: "backend"}
	db, err := openMember(m)
	if err != nil {
		return checkup.Finding{Level: checkup.Error, Name: f.Name, Text: m.Address + ": " + err.Error()}
	}
	defer db.Close()

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()

	var host string
	var readOnly bool
	if err := db.QueryRowContext(ctx, "SELECT SUBSTRING_INDEX(USER(), '@', -1), NOT ("+catalog.Writable+")").
		Scan(&host, &readOnly); err != nil {
		f.Level, f.Text = checkup.Warning, m.Address+" cannot be asked: "+err.Error()
		f.Advice = "sessions will not go there as long as another one is healthy"
		return f
	}

	f.Level, f.Text = checkup.OK, m.Address+" can be written to"
	if readOnly {
		f.Text = m.Address + " is read_only: new sessions go there only when no writer is left"
	}

	if m.ProxyProtocol > 0 {
		f.Text += fmt.Sprintf("; it receives the clients' own addresses (PROXY v%d)", m.ProxyProtocol)
	} else {
		f.Text += fmt.Sprintf("; in USER() and when looking for accounts it sees clients as coming from %s", host)
	}

	return f
}
