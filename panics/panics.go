package panics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
)

// Error is a panic, with the stack of where it was.
type Error struct {
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("a bug in ttlproxy: %v", e.Value) }

// Log tells what a panic met, and where it was.
func (e *Error) Log(log *slog.Logger, met string, more ...any) {
	log = log.With(slog.Any("err", e)).With(more...)
	log.Error("panic "+met, slog.String("stack", string(e.Stack))) //nolint:sloglint // it is constant where it is said
}

// of makes an Error of what was recovered, unless it is one that has been passed on.
func of(value any) *Error {
	if e, ok := value.(*Error); ok {
		return e
	}
	return &Error{Value: value, Stack: debug.Stack()}
}

// Stack is where what was just recovered began.
func Stack(recovered any) []byte { return of(recovered).Stack }

// Caught runs a function, and returns its panic as an *Error.
func Caught(run func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = of(value)
		}
	}()
	return run()
}

// Group runs functions side by side, as errgroup.Group does. If one of them panics, Wait does, when all have ended.
type Group struct{ *errgroup.Group }

// New returns a group.
func New() Group { return Group{new(errgroup.Group)} }

// WithContext returns a group, with a context that ends as soon as one of its functions fails or panics.
func WithContext(ctx context.Context) (Group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	return Group{g}, ctx
}

// Go runs a function in a goroutine of its own.
func (g Group) Go(run func() error) {
	g.Group.Go(func() error { return Caught(run) })
}

// Wait waits for all functions, and returns the first error.
func (g Group) Wait() error {
	err := g.Group.Wait()
	if e, ok := errors.AsType[*Error](err); ok {
		panic(e)
	}
	return err
}

const (
	firstRest   = time.Second
	longestRest = time.Minute
)

// Keep runs a part of the program until it ends without a panic. After one it tells, rests, longer each time in a row,
// and begins anew.
func Keep(ctx context.Context, tell func(e *Error, rest time.Duration), run func(context.Context) error) error {
	for rest := firstRest; ; rest = min(2*rest, longestRest) {
		began := time.Now()
		err := Caught(func() error { return run(ctx) })
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return err
		}

		if time.Since(began) > longestRest {
			rest = firstRest
		}
		tell(e, rest)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
	}
}
