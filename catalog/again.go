package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Reports are read all the time, of a thousand policies that hardly change. What was read of a
// policy is remembered under the stamp of its rows, which the server changes whenever somebody
// writes one, by whatever means. Each reading asks for all stamps first, and then for what is new:
// it shows what one that remembers nothing would show.

const (
	// againKept is how long something is used without being read again, whatever its stamp says:
	// lines of the history, which have none, are removed some day.
	againKept = 10 * time.Minute
	// mostKept bounds the rows that are remembered: of more than that, none is.
	mostKept = 50_000
)

// stamp is the mark on the rows of a policy.
type stamp struct {
	policy uint64
	text   string
	rows   int
}

// memory is what was read of policies. The zero value knows of none.
type memory[T any] struct {
	known atomic.Pointer[map[uint64]*remembered[T]] // a map that nobody writes to
}

// remembered is a value, with the stamp that was seen before it was read.
type remembered[T any] struct {
	stamp string
	at    time.Time // by the local clock
	value T
}

// again returns what there is under the stamps, in their order. It reads what is not known, by the
// numbers of the policies in a list; of those that are gone by then there is nothing.
func (m *memory[T]) again(stamps []stamp, read func(policies string) (map[uint64]T, error)) ([]T, error) {
	now := time.Now()
	var known map[uint64]*remembered[T]
	if last := m.known.Load(); last != nil {
		known = *last
	}

	var unknown []string
	for _, s := range stamps {
		if !known[s.policy].bears(s, now) {
			unknown = append(unknown, strconv.FormatUint(s.policy, 10))
		}
	}

	if len(unknown) > 0 {
		fresh, err := read(strings.Join(unknown, ", "))
		if err != nil {
			return nil, err
		}
		known = learn(known, stamps, fresh, now)
		m.keep(known, stamps)
	}

	values := make([]T, 0, len(stamps))
	for _, s := range stamps {
		if k := known[s.policy]; k != nil {
			values = append(values, k.value)
		}
	}

	return values, nil
}

// learn is what is known now: of the stamps that were seen, and of no others.
func learn[T any](
	known map[uint64]*remembered[T], stamps []stamp, fresh map[uint64]T, now time.Time,
) map[uint64]*remembered[T] {
	all := make(map[uint64]*remembered[T], len(stamps))
	for _, s := range stamps {
		if k := known[s.policy]; k.bears(s, now) {
			all[s.policy] = k
		} else if value, there := fresh[s.policy]; there {
			all[s.policy] = &remembered[T]{strings.Clone(s.text), now, value}
		}
	}
	return all
}

// keep remembers, within bounds.
func (m *memory[T]) keep(known map[uint64]*remembered[T], stamps []stamp) {
	rows := 0
	for _, s := range stamps {
		rows += s.rows
	}
	if rows > mostKept {
		known = nil
	}
	m.known.Store(&known)
}

// bears reports whether a value is still valid under a stamp.
func (k *remembered[T]) bears(s stamp, now time.Time) bool {
	return k != nil && k.stamp == s.text && now.Sub(k.at) < againKept
}

// stamps reads those of all policies, whose rows come one after the other.
func (s *Store) stamps(ctx context.Context, query string) ([]stamp, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(query))
	if err != nil {
		return nil, fmt.Errorf("read stamps: %w", err)
	}
	defer rows.Close()

	var all []stamp
	var ends []int
	var policy uint64
	var row sql.RawBytes
	var text []byte

	for rows.Next() {
		if err := rows.Scan(&policy, &row); err != nil {
			return nil, fmt.Errorf("read stamps: %w", err)
		}

		text = append(append(text, row...), 0) // which no name has
		if n := len(all); n > 0 && all[n-1].policy == policy {
			all[n-1].rows++
			ends[n-1] = len(text)
			continue
		}
		all, ends = append(all, stamp{policy: policy, rows: 1}), append(ends, len(text))
	}

	whole, begin := string(text), 0
	for i, end := range ends {
		all[i].text, begin = whole[begin:end], end
	}

	return all, rows.Err()
}
