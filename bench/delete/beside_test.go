package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// TestBeside runs the ways that need most: the program, a replica, and pt-archiver where it is.
func TestBeside(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: left out under -short")
	}

	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			args := []string{
				"-busy", "-replica", "-quick", "-rows=4000", "-rate=100", "-step=200ms", "-alone=300ms",
				"-only=alone,ttlproxy-through,ttlproxy,single,pt-max-lag", "-proxy=" + program.Build(t),
				"-set=ttl_throttle_probe = 250", "-plot=" + folder,
			}
			for _, other := range mysqltest.Flavours {
				if other != flavour {
					args = append(args, "-"+string(other)+"=none")
				}
			}

			var out strings.Builder
			err := run(t.Context(), args, &out)
			if errors.Is(err, sandbox.ErrNotInstalled) && !mysqltest.Everything() {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}

			if picture, err := os.ReadFile(filepath.Join(folder, "throttle-"+string(flavour)+".svg")); err != nil ||
				!strings.Contains(string(picture), "</svg>") {
				t.Errorf("the picture is %q (%v)", picture, err)
			}

			// milliseconds, statements a second, none failed, speeds, back-off, the replica's lag
			const figures = `( +\d+\.\d){4} +\d+ +0( +(\d+|-)){3} +([\d.]+ s|-|never) +\d+\.\d\d s`
			for line, want := range map[string]string{
				"alone": figures, "ttlproxy-through": figures, "single": figures,
				"pt-max-lag": "(" + figures + "| left out: )",
			} {
				if !regexp.MustCompile(`(?m)^  ` + line + ` *` + want).MatchString(out.String()) {
					t.Errorf("%s: got\n%s", line, out.String())
				}
			}
		})
	}
}

func TestBars(t *testing.T) {
	second := func(n float64) []time.Duration { return []time.Duration{time.Duration(n * float64(time.Second))} }
	one := &outcome{
		felt: second(0.003), done: 480, busyFor: time.Second, speeds: [3][]float64{{900}, nil, {800}},
		backOffs: append(second(0.5), second(0.9)...), lags: second(1.3),
	}
	all := map[string]*outcome{
		"ttlproxy": one, "alone": {felt: second(0.002), done: 500, busyFor: time.Second},
		"unthrottled": {speeds: [3][]float64{{1000}, nil, nil}}, "pt-archiver": {unmeasured: "it is not there"},
	}

	const stepping = `  bar: p99 of the busy application: 1.50 × alone, at most 1.1: missed
  bar: its statements a second: 0.96 × alone, at least 0.95: met
  bar: rows a second while it is idle: 0.80 × unthrottled, at least 0.9: missed
  bar: back off, in seconds: 0.90, at most 1: met
  bar: p99 of the replica's lag, in seconds: 1.30, at most 1.2: missed
`
	var out strings.Builder
	b := &bench{options: options{step: time.Second}}
	if b.printBars(&out, all); out.String() != stepping {
		t.Errorf("got\n%swant\n%s", out.String(), stepping)
	}

	one.backOffs, one.lags, b.step = nil, nil, 0
	const steady = `  bar: p99 of the application: 1.50 × alone, at most 2: met
  bar: p99 of the replica's lag, in seconds: not known
`
	out.Reset()
	if b.printBars(&out, all); out.String() != steady {
		t.Errorf("got\n%swant\n%s", out.String(), steady)
	}
}

// TestWholePartitions runs what is compared with them.
func TestWholePartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: left out under -short")
	}

	var out strings.Builder
	err := run(t.Context(), []string{"-partitions", "-quick", "-rows=2000", "-mysql=none"}, &out)
	if errors.Is(err, sandbox.ErrNotInstalled) && !mysqltest.Everything() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(
		`(?m)^  (by rows|DROP|TRUNCATE|EXCHANGE) +\d+\.\d\d s, of which jobs +\d+\.\d\d s +\d+ bytes`)
	if got := line.FindAllString(out.String(), -1); len(got) != 4 {
		t.Errorf("got\n%s", out.String())
	}
}

func TestWhatDoesNotGoTogether(t *testing.T) {
	for args, want := range map[string]string{
		"-busy -children=2":     "foreign keys are measured without an application",
		"-partitions -busy":     "partitions are measured without foreign keys and without an application",
		"-replica":              "-replica, -plot and -set are for measuring with -busy",
		"-only=single,ttlproxy": "-only: ttlproxy is measured with -busy",
		"-only=single,nonsense": `-only: there is no way "nonsense"`,
	} {
		err := run(t.Context(), append(strings.Fields(args), "-mariadb=none", "-mysql=none"), io.Discard)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

// TestArrivals answers nothing: statements arrive all the same.
func TestArrivals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &load{busy: 1000, idle: 100, step: 10 * time.Millisecond, began: time.Now()}
		arrivals := make(chan time.Time, 1000)
		ctx, stop := context.WithTimeout(t.Context(), 35*time.Millisecond)
		defer stop()
		l.arrive(ctx, arrivals)

		busy, idle := 0, 0
		for range len(arrivals) {
			if l.busyAt(<-arrivals) {
				busy++
			} else {
				idle++
			}
		}
		if busy < 20 || busy > 21 || idle != 2 {
			t.Errorf("got %d arrivals while it was busy and %d while it was idle, want 20 and 2", busy, idle)
		}
	})
}

// TestBackOffOfASlowOne: what was slow before the load came has made way.
func TestBackOffOfASlowOne(t *testing.T) {
	t.Parallel()
	began := time.Now()
	l, w := &load{step: time.Second, began: began}, &watch{}
	rows := int64(0)
	for d := time.Duration(0); d <= 6*time.Second; d += lookEvery {
		switch {
		case d > time.Second && d <= 2*time.Second:
			rows += 1000 // beside the idle load
		case d > 4*time.Second && d%(5*lookEvery) == 0:
			rows += 1000 // a batch now and then
		default:
			rows += 100
		}
		w.deleted = append(w.deleted, sample{began.Add(d), rows})
	}
	if got, known := w.backOff(l, began.Add(6*time.Second)); got != 0 || !known {
		t.Errorf("got %v, %v", got, known)
	}
}

func TestBackOff(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := began.Add
	l := &load{step: time.Second, began: began}
	watched := func(slower time.Duration) *watch {
		w := &watch{}
		rows := int64(0)
		for d := time.Duration(0); d <= 4*time.Second; d += 100 * time.Millisecond {
			if d > 0 && (d <= 2*time.Second+slower || d > 3*time.Second) {
				rows += 1000
			}
			w.deleted = append(w.deleted, sample{at(d), rows})
		}
		return w
	}

	if got, known := watched(300*time.Millisecond).backOff(l, at(4*time.Second)); got != 400*time.Millisecond || !known {
		t.Errorf("got %v, want 400 ms", got)
	}
	if got, _ := watched(time.Second).backOff(l, at(4*time.Second)); got >= 0 {
		t.Errorf("got %v, want that it never made way", got)
	}
	if got, known := watched(time.Second).backOff(l, at(2*time.Second)); known {
		t.Errorf("got %v although the load never became busy again", got)
	}
	if got := watched(0).speed(l.busyAt, at(time.Second)); got != 10_000 {
		t.Errorf("got %v rows a second, want 10000", got)
	}
}
