package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Question is what a preview is asked: what would a job delete that starts now under this rule?
type Question struct {
	Policy    uint64 // 0 for a rule that is only asked about
	Table     catalog.Table
	Rule      catalog.Rule
	Terms     catalog.Terms // of the rule
	Now       time.Time     // of the database
	Floor     string        // ttl_date_floor
	IndexScan bool          // ttl_enable_index_scan
	Brake     Brake
	Window    *ddl.Window // of TiDB's variables; nil for none
	Brief     bool        // only what is due now, and no rows nor days
	Version   uint64      // of the policy that is previewed; 0 for one that is only asked about
	Known     bool        // the policy has been at work in this version
	Usual     Usual
	Census    time.Time // when the last census began that came to its end; zero for none

	from     WholeSource        // nil if nobody can be asked what keeps partitions from going whole
	settings setting.Reading    // that limit a job
	nodes    int                // that share the work; 0 if nobody knows what limits it
	ended    []catalog.EndedJob // of the table, the latest first
}

// Preview is the blast radius of a policy, found out by bounded reading; nothing is changed or
// locked.
type Preview struct {
	Table      string   `json:"table"`
	TTL        string   `json:"ttl"`
	Version    uint64   `json:"version,omitempty"`   // of the policy; 0 for one that is only asked about
	TimeZone   string   `json:"time_zone,omitempty"` // of dates, TTL_CRON, TTL_WINDOW and months
	ZoneFrom   string   `json:"time_zone_from,omitempty"`
	Schedule   string   `json:"schedule"`
	Window     string   `json:"window,omitempty"`
	AllWindow  string   `json:"cluster_window,omitempty"` // of TiDB's variables, for all tables
	MaxLag     string   `json:"max_lag,omitempty"`
	DeleteRate string   `json:"delete_rate,omitempty"`
	BatchSize  string   `json:"batch_size,omitempty"`
	Options    string   `json:"options,omitempty"` // all others
	Cutoff     string   `json:"cutoff"`            // as it is compared with, in quotes; of a TIMESTAMP a catalog.Moment
	Rows       int64    `json:"rows"`
	RowsExact  bool     `json:"rows_exact"` // all rows were counted; otherwise numbers of the whole table are estimates
	Due        int64    `json:"rows_due"`
	Exact      bool     `json:"exact"` // the rows due were counted
	Percent    float64  `json:"percent_due"`
	Null       int64    `json:"rows_without_date"`
	Odd        int64    `json:"rows_with_implausible_date"`
	Next       []Day    `json:"due_per_day"`
	Plan       Way      `json:"plan"`
	PlanReason string   `json:"plan_reason"`
	KeyIndex   string   `json:"key_index,omitempty"`
	TimeIndex  string   `json:"time_index,omitempty"`
	Seconds    float64  `json:"estimated_seconds"` // of work
	SpeedFrom  string   `json:"speed_from"`
	End        string   `json:"estimated_end,omitempty"` // where windows interrupt the work
	Brake      string   `json:"brake,omitempty"`         // why the job would wait for approval
	Usual      *float64 `json:"usual_rows_per_hour,omitempty"`
	Children   []string `json:"foreign_keys,omitempty"`
	Triggers   []string `json:"triggers,omitempty"`

	// Dependents are the tables of which rows go along, or lose their parent.
	Dependents []Dependent `json:"dependents,omitempty"`

	Partitions int      `json:"partitions,omitempty"`
	MayBeDue   int      `json:"partitions_that_may_be_due,omitempty"` // jobs look at no others
	Warnings   []string `json:"warnings,omitempty"`

	// Plans are those that there are for the table, and what each would cost.
	Plans []Alternative `json:"plans,omitempty"`

	// Whole says which of the partitions go whole (TTL_PARTITION), and why others do not.
	Whole []string `json:"whole,omitempty"`

	// Rotation is how the table could be divided; nil for one that is.
	Rotation *Rotation `json:"rotation,omitempty"`

	// Seen shows keys and dates of rows: only for readers who may read them.
	Seen *Seen `json:"seen,omitempty"`
}

// Instants reports whether dates are those of a TIMESTAMP: no zone says how they are read, and each has its offset.
func (p *Preview) Instants() bool { return !strings.HasPrefix(p.Cutoff, "'") }

// DueShare is the part of the rows that is due, for people.
func (p *Preview) DueShare() string { return percent(p.Percent / 100) }

// WorthDividing reports whether the table is so large that people should be told how to divide it.
func (p *Preview) WorthDividing() bool { return p.Rotation != nil && p.Rows > largeTable }

// Seen is what a preview has seen of the rows themselves.
type Seen struct {
	OldestDue  string     `json:"oldest_due,omitempty"`
	NewestDue  string     `json:"newest_due,omitempty"`
	Sampled    bool       `json:"dates_sampled,omitempty"` // these are of a sample: there may be older and newer ones
	Keys       [][]string `json:"sample_keys,omitempty"`
	KeyColumns []string   `json:"key_columns,omitempty"`
	Statements []string   `json:"statements,omitempty"` // with the sample keys in them
}

// Day is how many rows become due within a day from now.
type Day struct {
	Until string `json:"until"` // a catalog.Moment
	Rows  int64  `json:"rows"`
	Exact bool   `json:"exact"` // counted
}

const (
	previewDays = 7
	previewKeys = 10
	// previewRows bounds the rows that are searched for samples.
	previewRows = 5000
	// previewCrowd bounds the entries of an index that are counted for a large family.
	previewCrowd = 100_000
)

// NewPreview answers the question on a connection that may read the table.
func NewPreview(ctx context.Context, q tables.Querier, ask Question) (*Preview, error) {
	facts, err := tables.ReadFacts(ctx, q, ask.Table.Schema, ask.Table.Name)
	if err != nil {
		return nil, err
	}
	v := &preview{Question: ask, q: q, facts: facts}
	v.staying, v.keyHold, err = ReadStaying(ctx, q, ask.Terms, &facts.Layout, facts.Children)
	if err != nil {
		return nil, fmt.Errorf("preview of %s: %w", ask.Table, err)
	}
	if v.triggers, err = triggersOf(ctx, q, facts.Schema, facts.Table, deletes); err != nil {
		return nil, fmt.Errorf("read triggers of %s: %w", ask.Table, err)
	}
	if err := v.look(ctx); err != nil {
		return nil, fmt.Errorf("preview of %s: %w", ask.Table, err)
	}
	return v.answer(), nil
}

// preview is a preview in the making.
type preview struct {
	Question
	q          tables.Querier
	facts      *tables.Facts
	triggers   []string // that fire on DELETE
	staying    Staying
	keyHold    string // why foreign keys let nothing be deleted
	dependents []Dependent
	families   string // how many rows go along with those that are due
	stay       int    // of those that were looked at
	looked     int    // at the first rows that have expired
	cutoff     Cutoff
	near       []tables.Partition // those that are looked at
	now        *Statements        // for rows that are due now
	due        Estimate           // in them
	choice     Choice
	days       []Day
	rotation   *Rotation
	whole      []string
	leaving    []tables.Partition // that go whole, or could
	refusal    string             // why none can
	seen       Seen
}

func (v *preview) look(ctx context.Context) (err error) {
	if err := v.leaveOutDistant(); err != nil {
		return err
	}
	if v.cutoff, v.now, err = v.after(0); err != nil {
		return err
	}

	near, _ := v.rows()
	if v.due, err = v.now.Survey(ctx, v.q, near); err != nil {
		return err
	}

	v.choice = v.now.Choose(v.due, v.IndexScan)
	if err := v.now.Verify(ctx, v.q, v.choice.Way, v.due.Edge); err != nil {
		v.choice = v.now.Second(v.choice, err)
	}
	v.choice = v.now.ByQueue(v.choice, v.due, Queueing{
		Terms: v.Terms, IndexScan: v.IndexScan, Now: v.Now, Census: v.Census,
	})

	v.seen.OldestDue, v.seen.NewestDue = v.cutoff.Tell(v.due.Oldest), v.cutoff.Tell(v.due.Newest)
	v.seen.Sampled = v.due.Oldest != "" && !v.due.Exact && v.now.TimeIndex == ""
	if err := v.readDependents(ctx); err != nil || v.Brief {
		return err
	}
	if v.whole, err = v.goWhole(ctx); err != nil {
		return err
	}
	if err := v.lookAhead(ctx); err != nil {
		return err
	}
	if v.rotation, err = rotationOf(ctx, v.q, v.facts, v.Rule, v.cutoff); err != nil {
		return err
	}

	return v.lookAtRows(ctx)
}

// leaveOutDistant narrows what is looked at to the partitions in which rows may be due within the
// days that are shown.
func (v *preview) leaveOutDistant() error {
	days := previewDays
	if v.Brief {
		days = 0
	}
	cutoff, _, err := v.after(days)
	if err == nil {
		v.near = DuePartitions(v.facts, v.Rule.Column, cutoff)
	}
	return err
}

// rows are the server's estimates of the rows in what is looked at, and in the partitions that are
// left out.
func (v *preview) rows() (near, distant int64) {
	if len(v.near) == len(v.facts.Partitions) {
		return v.facts.Rows, 0
	}
	for i, p := range v.facts.Partitions {
		if i < len(v.near) {
			near += p.Rows
		} else {
			distant += p.Rows
		}
	}
	return near, distant
}

// inAll is what is known of the whole table.
func (v *preview) inAll() Estimate {
	e := v.due
	if len(v.near) < len(v.facts.Partitions) {
		_, distant := v.rows()
		e.Rows, e.Exact = e.Rows+distant, false
	}
	return e
}

// after prepares the statements as they will be in that many days.
func (v *preview) after(days int) (Cutoff, *Statements, error) {
	c, found := v.facts.Column(v.Rule.Column)
	if !found {
		return Cutoff{}, nil, fmt.Errorf("there is no column %s", v.Rule.Column)
	}
	cutoff, err := CutoffOf(v.Terms, c, v.Now.AddDate(0, 0, days))
	if err != nil {
		return cutoff, nil, err
	}
	s, err := NewStatements(&v.facts.Layout, "", v.Rule.Column, cutoff, v.Floor, v.staying)
	if err == nil && len(v.near) < len(v.facts.Partitions) {
		s.Target = s.Target.Among(v.near)
	}
	return cutoff, s, err
}

// brake says why a job that starts now would wait for approval.
func (v *preview) brake() string {
	return v.Brake.Of(v.Terms.Options).Judge(Run{Estimate: v.toGo(), Known: v.Known, Usual: v.Usual}).Why
}

// toGo is what a job that starts now would delete, with all that goes along.
func (v *preview) toGo() Estimate { return v.inAll().With(v.staying.Along()) }

func (v *preview) answer() *Preview {
	all := v.inAll()
	p := &Preview{
		Table: v.Table.String(), TTL: v.Rule.Expiry(), TimeZone: v.Rule.TimeZone, Cutoff: v.now.Expired.Cutoff,
		Rows: all.Rows, RowsExact: all.Exact, Due: all.Expired, Exact: all.DueExact,
		Percent: 100 * all.Share(), Null: all.Null, Odd: all.Implausible,
		Next: v.days, Plan: v.choice.Way, PlanReason: v.choice.Reason, KeyIndex: v.now.KeyIndex,
		TimeIndex: v.now.TimeIndex,
		Children:  v.facts.Children.Names(), Triggers: v.triggers,
		Dependents: v.dependents, Brake: v.brake(), Whole: v.whole, Rotation: v.rotation, Seen: &v.seen,
	}

	if v.cutoff.Kind == tables.Timestamp {
		p.Cutoff = catalog.Moment(v.cutoff.Instant)
	}
	if p.Partitions = len(v.facts.Partitions); p.Partitions > 0 {
		p.MayBeDue = len(DuePartitions(v.facts, v.Rule.Column, v.cutoff))
	}

	p.Version = v.Version
	if v.Usual.Runs > 0 {
		p.Usual = &v.Usual.PerHour
	}
	if p.TimeZone != "" {
		p.ZoneFrom = string(v.Rule.ZoneSource)
	}

	v.showPolicy(p)
	p.Plans = v.alternatives(v.foresee(p))
	p.Warnings = v.warnings(p)
	return p
}

// showPolicy shows the options of the policy.
func (v *preview) showPolicy(p *Preview) {
	o := v.Rule.Options
	if v.Window != nil {
		p.AllWindow = v.Window.String() + " UTC"
	}
	p.Schedule, p.Window, p.MaxLag = v.Rule.Schedule(v.Terms.Timing), o[ddl.OptionWindow], o[ddl.OptionMaxLag]
	p.DeleteRate, p.BatchSize, p.Options = o[ddl.OptionDeleteRate], o[ddl.OptionBatchSize], v.Rule.OtherOptions()
}

// triggersOf lists the triggers of a table that fire on an event.
func triggersOf(ctx context.Context, q tables.Querier, schema, table, event string) ([]string, error) {
	return names(ctx, q, fmt.Sprintf(selectTriggers, event), schema, table)
}

// names lists what a query about a table names.
func names(ctx context.Context, q tables.Querier, query, schema, table string) (all []string, err error) {
	err = tables.EachRow(ctx, q, query, []any{schema, table}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		all = append(all, name)
		return err
	})
	return all, err
}
