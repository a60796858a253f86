package work

import (
	"fmt"
	"slices"
)

// packet is one batch: a transaction whose statements are sent together, or in two parts. It knows
// which of them tell how it ended.
type packet struct {
	statements           []string
	enter, delete, leave int
}

// open begins the packet of batch n+1: BEGIN, enter, entered.
func (b *barrier) open(n uint64) packet {
	return packet{statements: []string{"BEGIN", b.enter(n), entered}, enter: 1}
}

// locking is the packet with a statement that takes locks, or fails.
func (p packet) locking(statement string) packet {
	p.statements = append(slices.Clone(p.statements), statement)
	return p
}

// close completes a packet that was opened behind batch n: DELETE, leave, COMMIT.
func (b *barrier) close(p packet, n uint64, statement string, c checkpoint) packet {
	p.delete, p.leave = len(p.statements), len(p.statements)+1
	p.statements = append(slices.Clone(p.statements), b.delete(statement), b.leave(n, c), "COMMIT")
	return p
}

// before is the packet with statements that follow the checkpoint, before all is committed.
func (p packet) before(commit ...string) packet {
	last := len(p.statements) - 1
	p.statements = slices.Insert(slices.Clone(p.statements), last, commit...)
	return p
}

// after are the statements of a packet behind those of its first part.
func (p packet) after(first packet) []string { return p.statements[len(first.statements):] }

// outcome is how a packet ended when the server answered.
type outcome int

const (
	committed outcome = iota
	// refused: the barrier did not open. The policy changed, was paused, or the task belongs to
	// somebody else now.
	refused
	// changed: the barrier opened, but the table is not the one on which the policy was declared.
	changed
)

// judge tells how a packet ended, and how many rows it deleted, from the rows that each of its
// statements found.
func (p packet) judge(found []int64) (outcome, int64, error) {
	switch {
	case len(found) != len(p.statements):
		return refused, 0, fmt.Errorf("packet of %d statements has %d answers", len(p.statements), len(found))
	case found[p.enter] == 0:
		return refused, 0, nil
	case found[p.leave] == 0:
		return changed, found[p.delete], nil
	default:
		return committed, found[p.delete], nil
	}
}
