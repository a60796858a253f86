package work

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// SideStore is what is asked of the catalog about tables that may have been made for partitions.
type SideStore interface {
	FindAside(ctx context.Context, d catalog.Departure) (found bool, err error)
	ForgetSide(ctx context.Context, d catalog.Departure) error
	UnnotedGuard(d catalog.Departure, id uint64) string
	DropEmpty(ctx context.Context, d catalog.Departure, guard string) (rows uint64, err error)
	InnoDBID(t catalog.Table) string
	Name(table string) string
	Server() catalog.Server
}

// sideName is the name of the table that a partition becomes. MySQL makes names of constraints of it.
func sideName(job uint64, partition string) string {
	const room = 64 - len("_chk_1000")
	letters := []rune(fmt.Sprintf("ttlproxy_%d_%s", job, partition))
	return string(letters[:min(len(letters), room)])
}

// makeSide makes the empty table against which MySQL exchanges a partition. MariaDB makes it itself.
func (w *worker) makeSide(ctx context.Context, d *departure) error {
	if d.Side.Name == "" || d.mariadb {
		return nil
	}

	if err := w.clearSide(ctx, d); err != nil {
		return err
	}
	side := d.Side.String()
	if err := w.Store.AnnounceSide(ctx, d.Departure, d.fromID); err != nil {
		return err
	}
	for _, statement := range []string{
		"CREATE TABLE " + side + " LIKE " + d.statements.Target.Name(), "ALTER TABLE " + side + " REMOVE PARTITIONING",
	} {
		if _, err := w.session.packet(ctx, d.comment()+statement); err != nil {
			return w.stayed(ctx, d, err)
		}
	}

	var err error
	if d.emptyID, err = w.session.tableID(ctx, w.Store, d.Side); err != nil {
		return err
	}
	if d.emptyID == 0 {
		return w.refusedBy(ctx, d, "InnoDB's id of "+side+" cannot be read")
	}
	d.emptySide = fmt.Sprintf(" AND %s = %d AND NOT EXISTS (SELECT 1 FROM %s)", d.sideID, d.emptyID, side)
	return nil
}

// clearSide makes room for that table, and sees to it that one that was made before is not forgotten.
func (w *worker) clearSide(ctx context.Context, d *departure) error {
	before, err := w.Store.Departure(ctx, d.policy, d.Partition)
	if err != nil {
		return err
	}
	if before.Unnoted() {
		if err := DropSide(ctx, w.session, w.Store, before); err != nil {
			return err
		}
	}

	id, err := w.session.tableID(ctx, w.Store, d.Side)
	if err != nil {
		return err
	}
	if id != 0 {
		return w.refusedBy(ctx, d, "there is a table "+d.Side.String())
	}
	return nil
}

// dropSide drops that table if the partition has not become it: the very table, if it is empty.
func (w *worker) dropSide(ctx context.Context, d *departure) error {
	if d.emptySide == "" {
		return nil
	}
	_, err := w.Store.DropEmpty(context.WithoutCancel(ctx), d.Departure, fmt.Sprintf("%s = %d", d.sideID, d.emptyID))
	return err
}

// DropSide finds out what became of a table that was made for a partition when nobody noted it: it is kept if
// the partition has become it, and dropped if it is empty.
func DropSide(ctx context.Context, s *Session, store SideStore, d catalog.Departure) error {
	if found, err := store.FindAside(ctx, d); found || err != nil {
		return err
	}
	if err := s.Ready(ctx); err != nil {
		return err
	}

	id, err := s.tableID(ctx, store, d.Side)
	if err != nil {
		return err
	}
	if id != 0 && !store.Server().MariaDB { // which makes none before
		var rows bool
		if err := s.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+d.Side.String()+")").Scan(&rows); err != nil {
			return fmt.Errorf("look into %s: %w", d.Side, err)
		}
		if !rows {
			_, err := store.DropEmpty(ctx, d, store.UnnotedGuard(d, id))
			if inUse(err) {
				return nil // somebody reads it: another time
			}
			if err != nil {
				return err
			}
		}
	}

	return store.ForgetSide(ctx, d) // there is none any more, or it is somebody else's
}
