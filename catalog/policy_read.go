package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrNoPolicy says that a table has no policy.
var ErrNoPolicy = errors.New("table has no TTL policy")

// Policies returns all policies by schema and table.
func (s *Store) Policies(ctx context.Context) ([]Policy, error) {
	return s.policiesByTable(ctx, selectPolicies)
}

// PoliciesIn returns the policies of a schema by table, for DROP DATABASE.
func (s *Store) PoliciesIn(ctx context.Context, schema string) ([]Policy, error) {
	return s.policiesByTable(ctx, selectPolicyInSchema, s.Stored(Table{Schema: schema}).Schema)
}

// policiesByTable sorts what it reads: the server would need a temporary table on disk for that.
func (s *Store) policiesByTable(ctx context.Context, query string, args ...any) ([]Policy, error) {
	all, err := s.policies(ctx, s.db, query, args...)
	slices.SortFunc(all, func(a, b Policy) int { return a.Table.Compare(b.Table) })
	return all, err
}

// Policy returns the policy of a table, or ErrNoPolicy.
func (s *Store) Policy(ctx context.Context, t Table) (Policy, error) {
	return s.policy(ctx, s.db, s.Stored(t))
}

// Mentioned reports whether a statement could name a table that has a policy, judged by its bare
// text and without knowing the session that sent it. It errs towards true: a name that needs
// quoting counts as mentioned everywhere.
func (s *Store) Mentioned(ctx context.Context, text string) (found bool, err error) {
	text = strings.ToLower(strings.ToValidUTF8(text, "?"))
	if err := s.db.QueryRowContext(ctx, s.sql(selectMentioned), text).Scan(&found); err != nil {
		return false, fmt.Errorf("look for policies: %w", err)
	}
	return found, nil
}

// PolicyByID returns a policy, or ErrNoPolicy.
func (s *Store) PolicyByID(ctx context.Context, id uint64) (Policy, error) {
	return onePolicy(s.policies(ctx, s.db, selectPolicyByID, id))
}

func (s *Store) policy(ctx context.Context, on execer, t Table) (Policy, error) {
	return onePolicy(s.policies(ctx, on, selectPolicy, t.Schema, t.Name))
}

func onePolicy(all []Policy, err error) (Policy, error) {
	if err == nil && len(all) == 0 {
		err = ErrNoPolicy
	}
	if err != nil {
		return Policy{}, err
	}
	return all[0], nil
}

func (s *Store) policies(ctx context.Context, on execer, query string, args ...any) ([]Policy, error) {
	rows, err := on.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}

	all, err := collect(rows, scanPolicy)
	zones := zones{}
	for i := range all {
		all[i].understand(zones.resolve)
	}

	return all, err
}

// Stored returns the name as the server keeps it, or a part of one.
func (s *Store) Stored(t Table) Table {
	return t.folded(s.Server().letters)
}

func scanPolicy(r *sql.Rows) (Policy, error) {
	var (
		p           Policy
		options     []byte
		approved    sql.Null[uint64]
		consented   sql.Null[uint64]
		approvedAt  sql.Null[time.Time]
		stage       stageColumns
		since, till sql.Null[time.Time]
	)

	err := r.Scan(&p.ID, &p.Version, &p.Table.Schema, &p.Table.Name, &p.Rule.Column, &p.Rule.Literal, &p.Rule.Unit,
		&p.Rule.Enabled,
		&p.Rule.JobInterval, &p.Rule.TimeZone, &p.Rule.ZoneSource, &options, &p.State, &p.Reason, &p.StateAt, &p.Owner,
		&p.Shape.Columns, &p.Shape.PrimaryKey, &p.Approval.Required, &p.Approval.Reason, &approved, &p.Approval.By,
		&approvedAt, &consented, &p.Approval.Exactly,
		&stage.server, &stage.boot, &stage.connection, &stage.node, &stage.at, &stage.intent,
		&p.CreatedAt, &p.ChangedAt, &p.Paused.Paused, &p.Paused.Reason, &p.Paused.By, &since, &till)
	if err != nil {
		return p, err
	}

	p.Approval.Version, p.Approval.At, p.Approval.Rows = approved.V, approvedAt.V, pointer(consented)
	p.Paused.Since, p.Paused.Until = since.V, till.V
	if p.Rule.Options = map[string]string{}; string(options) != "{}" {
		if err := json.Unmarshal(options, &p.Rule.Options); err != nil {
			return p, fmt.Errorf("options of policy %d: %w", p.ID, err)
		}
	}

	p.Stage, err = stage.info()
	return p, err
}
