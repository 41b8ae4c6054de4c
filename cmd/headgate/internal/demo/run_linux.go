package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/packets"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/requests"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
)

// Run runs the demo, and returns when nothing is left of it. It needs root. An error says that it
// did not come to its end: because ctx ended, because something is missing, or because the output
// cannot be written. Numbers that are off are no error; the summary says so.
func Run(ctx context.Context, o Options) (Summary, error) {
	type result struct {
		summary Summary
		err     error
	}
	done := make(chan result)
	go func() {
		// Never unlocked, so that the thread ends, and its namespaces with it.
		runtime.LockOSThread()
		summary, err := run(ctx, o.withDefaults())
		done <- result{summary, err}
	}()
	r := <-done
	if r.err != nil && ctx.Err() != nil {
		r.err = fmt.Errorf("the demo was interrupted, and has removed what it made: %w", ctx.Err())
	}
	return r.summary, r.err
}

func run(ctx context.Context, o Options) (summary Summary, err error) {
	began := time.Now()
	live := stage.NewLive(o.Live, o.Terminal)
	defer func() { err = errors.Join(err, live.Close()) }()

	err = onStage(func(s *stage.Stage) (err error) {
		summary.Summary, err = packets.Play(ctx, s, live, o.Second)
		return err
	})
	if err != nil {
		return Summary{}, err
	}
	err = onStage(func(s *stage.Stage) (err error) {
		summary.HTTP, err = requests.Play(ctx, s, live, o.Program, o.Second)
		return err
	})
	if err != nil {
		return Summary{}, err
	}
	summary.conclude(time.Since(began))
	return summary, nil
}

// onStage plays an act, of which nothing is left when it returns.
func onStage(play func(*stage.Stage) error) error {
	s, err := stage.New()
	if err != nil {
		return err
	}
	return errors.Join(play(s), s.Close())
}
