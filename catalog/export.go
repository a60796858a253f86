package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Export returns what people have decided, as statements that restore it, through the proxy, on
// this or another server: settings, a pause of everything, and all policies. What keeps rows until
// somebody has looked is a comment above its policy, which comes back switched off. Of a catalog of
// which something is missing, it returns ErrDamagedCatalog.
func (s *Store) Export(ctx context.Context) (string, error) {
	text, err := s.export(ctx)
	return text, s.damage(err)
}

func (s *Store) export(ctx context.Context) (string, error) {
	values, err := s.Settings(ctx)
	if err != nil {
		return "", err
	}

	pause, err := s.GlobalPause(ctx)
	if err != nil {
		return "", err
	}

	all, err := s.Policies(ctx)
	if err != nil {
		return "", err
	}

	withheld, err := s.withheld(ctx, all)
	if err != nil {
		return "", err
	}

	now, err := s.Clock(ctx)
	if err != nil {
		return "", err
	}

	var b strings.Builder
	shown := values.Shown()
	for _, known := range setting.All() {
		switch name := known.Name; {
		case values.Said(name):
			fmt.Fprintf(&b, "SET GLOBAL %s = %s;\n", name, settingLiteral(known, values.Values[name]))
		case shown[name] != values.Values[name]: // who does not understand it either is to know that it is there
			fmt.Fprintf(&b, "SET GLOBAL %s = %s;\n", name, tables.Literal(shown[name]))
		}
	}

	b.WriteString(pause.statement(now))
	for _, p := range all {
		b.WriteString(p.statements(now, values.Values[setting.DefaultTimeZone], withheld[p.ID]))
	}

	return b.String(), nil
}

// statement pauses everything if it is paused, or if the server is held: a catalog that is new there would know
// nothing to hold it for.
func (p GlobalPause) statement(now time.Time) string {
	comment := ""
	if p.Held {
		comment = fmt.Sprintf("-- the server is held: %s\n", oneLine(p.HeldReason))
	}
	if p.InForce(now) {
		comment += p.comment()
	}
	if comment == "" {
		return ""
	}
	return comment + "PAUSE TTL;\n"
}

// settingLiteral is a value as SET takes it.
func settingLiteral(s setting.Setting, value string) string {
	if s.Kind == setting.KindBool || s.Kind == setting.KindInt {
		return value
	}
	return tables.Literal(value)
}

// comment says who has paused. A pause that was meant to end by itself has to be ended by RESUME:
// the zone in which its end would be read, that of whoever runs the statements, is not known.
func (p Pause) comment() string {
	until := ""
	if !p.Until.IsZero() {
		until = ", until " + Moment(p.Until)
	}
	return fmt.Sprintf("-- paused by %s%s\n", oneLine(p.By), until)
}

// statements declare the policy where the default of the zone is as given. One that is paused is
// switched on only after its PAUSE. One that is disarmed, or keeps rows for another reason that only
// a person ends, comes back switched off: a declaration would arm it, and let them go.
func (p Policy) statements(now time.Time, defaultZone string, withheld []string) string {
	var b strings.Builder
	rule := p.Rule
	if p.State != PolicyArmed {
		fmt.Fprintf(&b, "-- %s: %s\n", p.State, oneLine(p.Reason))
	}
	for _, why := range withheld {
		fmt.Fprintf(&b, "-- %s\n", oneLine(why))
	}
	if state := p.standing(); state == PolicyDisarmed || state == PolicyDormant || len(withheld) > 0 {
		rule.Enabled = false
	}
	if p.Rule.ZoneSource != ZoneFromTable && p.Rule.TimeZone != "" {
		fmt.Fprintf(&b, "-- dates are in zone %s, from the %s\n", p.Rule.TimeZone, p.Rule.ZoneSource)
	}

	moved := rule.ZoneSource == ZoneFromServer && defaultZone != "" ||
		rule.ZoneSource == ZoneFromSetting && defaultZone != rule.TimeZone
	if moved && rule.TimeZone != "" {
		rule.ZoneSource = ZoneFromTable // else its dates would be read in the zone that is the default now
	}
	if !p.Paused.InForce(now) {
		fmt.Fprintf(&b, "ALTER TABLE %s %s;\n", p.Table, rule)
		return b.String()
	}

	enabled := rule.Enabled
	rule.Enabled = false
	fmt.Fprintf(&b, "%sALTER TABLE %s %s;\nPAUSE TTL FOR %[2]s;\n", p.Paused.comment(), p.Table, rule)
	if enabled {
		fmt.Fprintf(&b, "ALTER TABLE %s TTL_ENABLE='ON';\n", p.Table)
	}

	return b.String()
}

// oneLine keeps a text inside its comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ErrNoCatalog says that the schema has not been made.
var ErrNoCatalog = errors.New("there is no catalog")

// OpenExisting opens a catalog that is there and up to date, and creates or changes nothing.
func OpenExisting(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	s, err := newStore(ctx, db, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.mustBeUpToDate(ctx); err != nil {
		return nil, err
	}
	return s, s.complete(ctx)
}

// mustBeUpToDate returns ErrNoCatalog if there is none of this version.
func (s *Store) mustBeUpToDate(ctx context.Context) error {
	_, done, err := s.upToDate(ctx)
	if err == nil && !done {
		err = s.noCatalog()
	}
	return err
}

func (s *Store) noCatalog() error {
	return fmt.Errorf("%w in schema %s, or it is older than this version", ErrNoCatalog, s.cfg.Schema)
}

// complete reports ErrDamagedCatalog when a table or column of the schema is missing.
func (s *Store) complete(ctx context.Context) error {
	for _, q := range []string{
		selectPolicies, selectJobs, selectTasks, selectSchedules, selectSettings, selectLineage, selectGeneration,
		selectGlobalPause,
	} {
		_, err := answers(ctx, s.db, s.sql(q))
		if err := s.damage(err); errors.Is(err, ErrDamagedCatalog) {
			return err
		}
		if err != nil {
			return fmt.Errorf("look at the catalog: %w", err)
		}
	}
	return nil
}

// damage is an error as it is, or ErrDamagedCatalog if a table or column is missing.
func (s *Store) damage(err error) error {
	if !isServerError(err, ddl.CodeNoTable, ddl.CodeUnknownColumn) {
		return err
	}
	return fmt.Errorf("%w: %w; restore schema %s from a backup, or drop it and declare the policies again",
		ErrDamagedCatalog, err, s.cfg.Schema)
}
