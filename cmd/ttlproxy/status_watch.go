package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// watchEvery is the pause between two pictures.
const watchEvery = 2 * time.Second

// watchPatience is how long a picture may take before the one on the screen is called old.
const watchPatience = 10 * time.Second

func within(ctx context.Context, patience time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return do(ctx)
}

// watchStatus prints again and again, until ctx ends. On a terminal each picture takes the place of
// the one before, and a server that cannot be asked for a while, as in a fail-over, is no reason to
// stop looking.
func watchStatus(ctx context.Context, w io.Writer, store report.Store, view statusView) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()

	for last := ""; ; {
		s := screenOf(w)
		terminal := s != screen{}
		var b strings.Builder
		err := within(ctx, watchPatience, func(ctx context.Context) error { return view(ctx, &b, s, store) })
		picture := b.String()

		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			last = picture
		case terminal:
			picture = fmt.Sprintf("%s  cannot be read any more: %v\n%s", catalog.Moment(time.Now()), err, last)
		default:
			return err
		}

		if terminal {
			picture = "\x1b[H\x1b[J" + s.clip(picture) // home, and clear what is below
		}
		if _, err := io.WriteString(w, picture); err != nil {
			return err
		}

		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
