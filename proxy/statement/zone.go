package statement

import (
	"errors"
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// Times are told in the zone of the session: those in columns of their own by the server, those in
// sentences here. The zone is asked for only when a sentence has one.

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

// localizePreview does it to what is not told about rows: what is told about them, as their keys,
// is as it is.
func localizePreview(x *proxy.Exchange, p *plan.Preview) error {
	zone, err := sessionZone(x)
	if err != nil {
		return err
	}

	p.End = catalog.Localize(p.End, zone)
	for i := range p.Next {
		p.Next[i].Until = catalog.Localize(p.Next[i].Until, zone)
	}
	return nil
}

// sessionZone is the zone of the session. One that this machine does not know, as SYSTEM, is taken
// for the offset that it has now: every time bears its offset, so it is the right one all the same.
func sessionZone(x *proxy.Exchange) (*time.Location, error) {
	values, err := x.AskValues(proxy.SelectValues(
		"@@session.time_zone", "TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())"))
	if err != nil {
		return nil, err
	}
	if zone, err := ddl.Zone(values[0]); err == nil {
		return zone, nil
	}
	seconds, err := strconv.Atoi(values[1])
	if err != nil {
		return nil, err
	}
	return time.FixedZone(values[0], seconds), nil
}
