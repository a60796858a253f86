package statement

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// Times are shown in the zone of the session: those in columns of their own by the server, those in
// sentences here. The zone is asked for only if a sentence contains one.

// localize writes the times in a reply's sentences in the session's zone.
func (r *reply) localize(x *proxy.Exchange) error {
	if !catalog.HasMoment(r.info) && (r.list == nil || !r.list.HasMoment()) {
		return nil
	}

	zone, err := sessionZone(x)
	if err != nil {
		return err
	}

	r.info = catalog.Localize(r.info, zone)
	if r.list != nil {
		r.list.Localize(zone)
	}

	return nil
}

// localizeError does the same to a refusal.
func localizeError(x *proxy.Exchange, err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || !catalog.HasMoment(e.Message) {
		return err
	}
	zone, asked := sessionZone(x)
	if asked != nil {
		return err
	}

	local := *e
	local.Message = catalog.Localize(e.Message, zone)
	return &local
}

// localizePreview does so to sentences and dates: the keys of rows, and statements, stay as they are.
func localizePreview(x *proxy.Exchange, p *plan.Preview) error {
	zone, err := sessionZone(x)
	if err != nil {
		return err
	}

	times := append(sentencesOf(p), &p.End, &p.Cutoff)
	for i := range p.Next {
		times = append(times, &p.Next[i].Until)
	}
	if p.Seen != nil {
		times = append(times, &p.Seen.OldestDue, &p.Seen.NewestDue)
	}
	for _, text := range times {
		*text = catalog.Localize(*text, zone)
	}
	return nil
}

// localizeNotes does so to what is left for SHOW WARNINGS.
func (q *request) localizeNotes() error {
	if !slices.ContainsFunc(q.notes, func(n proxy.Note) bool { return catalog.HasMoment(n.Message) }) {
		return nil
	}
	zone, err := sessionZone(q.x)
	if err != nil {
		return nilIfRefused(err)
	}
	for i := range q.notes {
		q.notes[i].Message = catalog.Localize(q.notes[i].Message, zone)
	}
	return nil
}

// sessionZone is the zone of the session. For one that this machine does not know, such as SYSTEM,
// it is the present offset: every time carries its offset, so it is right all the same.
func sessionZone(x *proxy.Exchange) (*time.Location, error) {
	zone, _, err := zoneOf(x)
	return zone, err
}

// zoneOf is the zone of the session, and whether this machine knows it. If not, it is the present offset.
func zoneOf(x *proxy.Exchange) (zone *time.Location, known bool, err error) {
	values, err := x.AskValues(proxy.SelectValues(
		"@@session.time_zone", "TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())"))
	if err != nil {
		return nil, false, err
	}
	if zone, err := ddl.Zone(values[0]); err == nil {
		return zone, true, nil
	}
	seconds, err := strconv.Atoi(values[1])
	if err != nil {
		return nil, false, err
	}
	return time.FixedZone(values[0], seconds), false, nil
}
