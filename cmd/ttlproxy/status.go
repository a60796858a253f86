package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// statusCommand shows on a terminal what SHOW TTL … shows in SQL.
func statusCommand() command {
	return command{
		name: "status", args: "[LIST]", summary: "show what is being deleted, how far it is and what holds it up",
		text: "Shows every table with a TTL: its verdict, the progress of its job, how far it is behind and when it " +
			"runs next. With a LIST, that list instead: " +
			listNames() +
			". With --format=vertical a list has each value on a line of its own, with --format=json the output " +
			"is for scripts; with --watch it is repeated every two seconds.",
		run: showStatus,
	}
}

// lists are those in the catalog: of sessions only their proxy knows.
func lists() []ddl.List {
	return slices.DeleteFunc(ddl.Lists(), func(l ddl.List) bool { return l == ddl.ListSessions })
}

func listNames() string {
	var names []string
	for _, l := range lists() {
		names = append(names, strings.ToLower(string(l)))
	}
	return strings.Join(names, ", ")
}

// showStatus prints once, or until it is interrupted.
func showStatus(ctx context.Context, w world, o *options, args []string) error {
	view, err := newStatusView(o, args)
	if err != nil {
		return err
	}

	log := newLogger(w.stderr, o.LogFormat, levelOf("error"))
	return o.withCatalog(ctx, log, func(store *catalog.Store) error {
		if !o.Watch {
			return view(ctx, w.stdout, screenOf(w.stdout), store)
		}
		return watchStatus(ctx, w.stdout, store, view)
	})
}

// statusView prints one picture for a screen.
type statusView func(ctx context.Context, w io.Writer, s screen, store report.Store) error

func newStatusView(o *options, args []string) (statusView, error) {
	asJSON := o.StatusFormat == "json"
	switch {
	case len(args) > 1:
		return nil, usagef("status shows one list at a time: %s", listNames())
	case len(args) == 0 && asJSON:
		return overviewJSON, nil
	case len(args) == 0:
		return forPeople(overview), nil
	}

	for _, l := range lists() {
		if strings.EqualFold(args[0], string(l)) {
			view := oneList(l, listWriter(o.StatusFormat))
			if asJSON {
				return view, nil
			}
			return forPeople(view), nil
		}
	}

	return nil, usagef("there is no list %q%s; there are %s", args[0],
		suggest(args[0], strings.Split(listNames(), ", ")), listNames())
}

// forPeople is a view in which nothing but the text of a picture is written.
func forPeople(view statusView) statusView {
	return func(ctx context.Context, w io.Writer, s screen, store report.Store) error {
		return view(ctx, legible{w}, s, store)
	}
}

// oneList shows one of the lists.
func oneList(name ddl.List, write func(io.Writer, report.List) error) statusView {
	return func(ctx context.Context, w io.Writer, _ screen, store report.Store) error {
		l, err := report.Load(ctx, store, name, catalog.Filter{})
		if err != nil {
			return err
		}
		return write(w, l)
	}
}
