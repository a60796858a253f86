package work

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// atWork are the tasks that workers of a node have. The catalog may think that they have others: a
// server that dies hears neither that a task is given back, nor that it is done, and nobody else
// claims a task as long as its owner lives.
type atWork struct {
	mu    sync.Mutex
	tasks map[claimed]bool
	stray map[claimed]bool // that nobody had at the last look
}

// claimed is a task as it was claimed once.
type claimed struct{ task, fence uint64 }

func newAtWork() *atWork { return &atWork{tasks: map[claimed]bool{}} }

func (a *atWork) take(t catalog.Task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks[claimed{t.ID, t.Fence}] = true
}

func (a *atWork) drop(t catalog.Task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tasks, claimed{t.ID, t.Fence})
}

// strays are those of the node's tasks that no worker has, at this look as at the last one: what has
// just been claimed is not known here at once.
func (a *atWork) strays(all []catalog.Task) (strays []catalog.Task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.stray
	a.stray = map[claimed]bool{}
	for _, t := range all {
		c := claimed{t.ID, t.Fence}
		if a.tasks[c] {
			continue
		}
		a.stray[c] = true
		if before[c] {
			strays = append(strays, t)
		}
	}
	return strays
}

// PutBack gives tasks back that a worker could not. Whoever else may believe to have one is kept out
// by its fence.
func (c *Crew) PutBack(ctx context.Context) error {
	tasks, err := c.Store.OwnTasks(ctx, c.Node())
	if err != nil {
		return err
	}

	for _, t := range c.atWork.strays(tasks) {
		err := c.Store.ReleaseTask(ctx, t.ID, t.Fence, t.Error)
		if errors.Is(err, catalog.ErrFence) {
			continue
		}
		if err != nil {
			return err
		}
		c.Log.LogAttrs(ctx, slog.LevelInfo, "task is put back that nobody had any more",
			slog.Uint64("job", t.JobID), slog.Uint64("task", t.ID))
	}
	return nil
}
