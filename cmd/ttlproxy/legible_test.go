package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// hostileStore is a catalog in which people who may make tables, and declare policies, have named
// theirs.
type hostileStore struct{ someStore }

const hostile = "\x1b]0;owned\a\x9b2J\u009b1m\u202eevil\nshop.fake  100%\tKEEPING UP"

func (h hostileStore) PoliciesAgain(ctx context.Context) ([]*catalog.Policy, error) {
	all, err := h.someStore.PoliciesAgain(ctx)
	all[1].Table = catalog.Table{Schema: hostile, Name: hostile}
	all[1].State, all[1].Reason, all[1].Owner, all[1].Rule.Column = catalog.PolicyDisarmed, hostile, hostile, hostile
	return all, err
}

func (hostileStore) GlobalPause(context.Context) (catalog.GlobalPause, error) {
	return catalog.GlobalPause{Pause: catalog.Pause{Paused: true, Reason: hostile, By: hostile}}, nil
}

// TestNothingOrdersATerminal: a name is text wherever people read it, on one line.
func TestNothingOrdersATerminal(t *testing.T) {
	t.Parallel()
	for list, wantLines := range map[string]int{"": 5, "tables": 3, "jobs": 3} {
		var args []string
		if list != "" {
			args = []string{list}
		}

		view, err := newStatusView(&options{}, args)
		if err != nil {
			t.Fatal(err)
		}

		var b strings.Builder
		if err := view(t.Context(), &b, screen{}, hostileStore{}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\a\t\u009b\u202e") || strings.Contains(b.String(), "\x9b") {
			t.Errorf("%q orders a terminal: %q", list, b.String())
		}
		if got := strings.Count(b.String(), "\n"); got != wantLines {
			t.Errorf("%q has %d lines, want %d:\n%s", list, got, wantLines, b.String())
		}
	}

	var b strings.Builder
	exitCode(errors.New("table "+hostile), &b)
	if strings.ContainsAny(b.String(), "\x1b\a\t\u202e") ||
		!strings.Contains(b.String(), `\x1b]0;owned\x07\x9b2J\u009b1m\u202eevil`) {
		t.Errorf("the error orders a terminal: %q", b.String())
	}

	for _, plain := range []string{"shop.orders → √ „é“ 日本語 …\n", ""} {
		if got := visible(plain); got != plain {
			t.Errorf("got %q, want it as it is: %q", got, plain)
		}
	}
}
