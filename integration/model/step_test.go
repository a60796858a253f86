package model

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// step does what a step says, and tells the world what came of it.
func (p *player) step(ctx context.Context, s step) error {
	switch s.kind {
	case tick:
		return p.tick(ctx)
	case kill:
		return p.killProxy()
	case fill:
		return p.fill(ctx, s.actions[0].table.under(s.in))
	case duplic:
		return p.copyRows(ctx, s.actions[0].other.under(s.in), s.actions[0].table.under(s.in))
	case race:
		return p.race(ctx, s)
	case say, prepare, execute:
	}

	on, err := p.session(ctx, s.client, s.in)
	if err != nil {
		return err
	}

	switch s.kind {
	case prepare:
		p.prepare(on, s)
	case execute:
		p.execute(on, s)
	default:
		p.say(on, s)
	}

	return nil
}

// say runs the actions of a step in a session.
func (p *player) say(on *session, s step) {
	switch s.manner {
	case binary:
		p.sayBinary(on, s)
	case packet:
		p.sayTogether(on, s)
	default:
		for _, a := range s.actions {
			p.sayOne(on, s, a)
		}
	}
}

func (p *player) sayOne(on *session, s step, a action) {
	if s.manner == dumped {
		on.outcomes("SET foreign_key_checks = 0", 1)
		defer on.outcomes("SET foreign_key_checks = 1", 1)
	}
	p.concludes(on, s, a, on.outcomes(p.names.Replace(a.dress(s.manner)), 1)[0])
}

// sayTogether runs all actions in one packet, with others around them.
func (p *player) sayTogether(on *session, s step) {
	texts := []string{"DO 1"}
	for _, a := range s.actions {
		texts = append(texts, a.text())
	}
	outcomes := on.outcomes(p.names.Replace(strings.Join(append(texts, "DO 2"), "; ")), len(s.actions)+2)
	for i, a := range s.actions {
		p.concludes(on, s, a, outcomes[i+1])
	}
}

// sayBinary prepares each action by the protocol and runs it at once.
func (p *player) sayBinary(on *session, s step) {
	for _, a := range s.actions {
		stmt, err := on.conn.Prepare(p.names.Replace(a.text()))
		if err == nil {
			_, err = stmt.Execute()
			_ = stmt.Close()
		}
		p.concludes(on, s, a, on.judged(err))
	}
}

// judged is what an answer says; without one the connection is gone.
func (s *session) judged(err error) outcome {
	o := judged(err)
	s.lost = s.lost || o == unknown
	return o
}

// concludes tells the world, and keeps in mind which temporary tables the session has.
func (p *player) concludes(on *session, s step, a action, o outcome) {
	p.world.apply(deed{
		action: a, client: s.client, in: s.in, outcome: o, held: s.manner == dumped,
		hidden: func(n name) bool { return on.shadows[n] },
	})
	p.moved = p.moved || o != refused && a.moves()
	n := a.table.under(s.in)
	if o != done {
		return
	}

	switch a.verb {
	case shadow:
		on.shadows[n] = true
	case unveil, drop, rebrand:
		delete(on.shadows, n)
	default:
	}
}

func (p *player) prepare(on *session, s step) {
	a := s.actions[0]
	if !s.binary {
		text := fmt.Sprintf("PREPARE %s FROM '%s'", s.slot, strings.ReplaceAll(a.text(), "'", "''"))
		if s.manner == skipped {
			text = hiding + text
		}

		b := bound{action: a, in: s.in}
		if on.outcomes(p.names.Replace(text), 1)[0] != done {
			b = on.prepared[s.slot]
			b.unsure = true
		}

		on.prepared[s.slot] = b
		return
	}

	stmt, err := on.conn.Prepare(p.names.Replace(a.text()))
	if err == nil {
		on.prepared[s.slot] = bound{action: a, in: s.in, stmt: stmt}
	}
}

func (p *player) execute(on *session, s step) {
	b, ok := on.prepared[s.slot]
	if !ok || b.action.verb == "" {
		return
	}

	var o outcome
	if b.stmt != nil {
		_, err := b.stmt.Execute()
		o = on.judged(err)
	} else {
		o = on.outcomes("EXECUTE "+s.slot, 1)[0]
	}

	if b.unsure && o == done {
		o = unknown
	}

	s.in, s.manner = b.in, plain // a name means what it meant when it was prepared
	p.concludes(on, s, b.action, o)
}

// tick waits for the next second of the server, which tells two tables of one name apart.
func (p *player) tick(ctx context.Context) error {
	return p.exec(ctx, "DO SLEEP(1.05 - MICROSECOND(NOW(6)) / 1000000)")
}

// killProxy ends the script's proxy without warning, waits until the server has noticed, and starts
// another.
func (p *player) killProxy() (err error) {
	p.own.Kill()
	for c, s := range p.sessions {
		if !c.direct {
			_ = s.conn.Conn.Conn.Close()
			delete(p.sessions, c)
		}
	}
	p.own, err = p.mortal()
	return err
}

// until tries until something is so, or gives up.
func until(ctx context.Context, atMost time.Duration, try func() (bool, error)) (bool, error) {
	deadline := time.Now().Add(atMost)
	for {
		if ok, err := try(); ok || err != nil {
			return ok, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}

		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
