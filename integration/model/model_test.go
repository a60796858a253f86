package model

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// lanes is how many scripts are played at once on one server.
const lanes = 6

// TestModel is what doc.go describes. TTLPROXY_MODEL_TIME is how long it goes on,
// TTLPROXY_MODEL_SHAPES (life,online,…) of which shapes its scripts are, and TTLPROXY_MODEL_SEED
// plays the one script of a seed.
func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: left out under -short")
	}
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			try(t, flavour)
		})
	}
}

func try(t *testing.T, flavour sandbox.Flavour) {
	t.Helper()
	h, shapes := open(t, flavour), shapesOf()
	if seed := os.Getenv("TTLPROXY_MODEL_SEED"); seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		h.judge(t, generate(n, shapes), nil)
		return
	}

	h.judge(t, plainest(), nil)
	if h.liveness.Load() == 0 {
		t.Fatal("what had to go was not watched")
	}

	began := time.Now()
	found, scripts := h.search(t, firstSeed(), shapes, lengthOf(t))
	t.Logf("%d scripts, %d steps (%.0f each second); %d times what had to go went; %d times a policy stayed armed "+
		"that did nothing",
		scripts, h.steps.Load(), float64(h.steps.Load())/time.Since(began).Seconds(), h.liveness.Load(),
		h.doubted.Load())
	if found != nil {
		t.Logf("found after %v and %d scripts", time.Since(began).Round(time.Second), scripts)
		h.judge(t, found.script, found.wrong)
	}
}

// firstSeed is where a search begins. One that is told how long it may take looks for something
// new; the one that belongs to every change plays the same scripts each time, so that it says the
// same of the same program.
func firstSeed() uint64 {
	if os.Getenv("TTLPROXY_MODEL_TIME") == "" {
		return 1
	}
	return uint64(time.Now().UnixNano())
}

// lengthOf is how long to search: half a minute, unless told otherwise.
func lengthOf(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("TTLPROXY_MODEL_TIME")
	if text == "" {
		return 30 * time.Second
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return length
}

func shapesOf() []string {
	if text := os.Getenv("TTLPROXY_MODEL_SHAPES"); text != "" {
		return strings.Split(text, ",")
	}
	return slices.Sorted(maps.Keys(shapes()))
}

// fault is a script that went wrong, and how.
type fault struct {
	script script
	wrong  []string
}

// search plays scripts until one goes wrong or the time is up, which also ends those that are in
// the middle of it.
func (h *house) search(t *testing.T, seed uint64, shapes []string, length time.Duration) (*fault, int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()

	var all sync.WaitGroup
	var played atomic.Int64
	var found atomic.Pointer[fault]
	for range lanes {
		all.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				s := generate(seed+uint64(played.Add(1)), shapes)
				wrong, err := h.play(ctx, s)
				if err != nil && ctx.Err() == nil {
					t.Errorf("TTLPROXY_MODEL_SEED=%d: %v\n%s", s.seed, err, s)
				}
				if len(wrong) > 0 && found.CompareAndSwap(nil, &fault{s, wrong}) {
					cancel()
				}
			}
		})
	}

	all.Wait()
	return found.Load(), played.Load()
}

// shrinking is how long the search for a shorter script may take.
const shrinking = time.Minute

// judge plays a script, alone, and if it goes wrong again fails with the shortest script that does.
func (h *house) judge(t *testing.T, s script, before []string) {
	t.Helper()
	for range tries {
		wrong, err := h.play(t.Context(), s)
		if err != nil {
			t.Fatalf("TTLPROXY_MODEL_SEED=%d: %v\n%s", s.seed, err, s)
		}

		if len(wrong) > 0 {
			short, wrong := h.shrink(t.Context(), s, wrong, shrinking)
			t.Errorf("TTLPROXY_MODEL_SEED=%d: %s\n%s", s.seed, strings.Join(wrong, "\n"), short)
			return
		}
	}

	if before != nil {
		t.Errorf("TTLPROXY_MODEL_SEED=%d went wrong once and not again: %s\n%s", s.seed, strings.Join(before, "\n"), s)
	}
}
