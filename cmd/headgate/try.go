package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

// trial is an attach that has to be confirmed, by its deadline in ns of the boot clock. Three things
// watch over it, each for the case that the one before is gone: the command itself, a process of
// its own that it leaves behind, and the kernel. What they need to know is in the configuration.
type trial uint64

var errNotConfirmed = errors.New("not confirmed: everything is as it was before")

// awaitConfirmation waits for Enter. The end of input confirms nothing: a terminal that has died
// looks like that.
func (e *env) awaitConfirmation(ctx context.Context, g *global, t trial) error {
	left := e.clock().until(uint64(t))
	e.notice("press Enter within %s to keep this; otherwise, or with Ctrl-C, everything goes back to how it was",
		e.left(t))
	confirmed := make(chan struct{})
	go func() {
		if _, err := bufio.NewReader(e.stdin).ReadString('\n'); err == nil {
			close(confirmed)
		}
	}()
	deadline := time.NewTimer(left)
	defer deadline.Stop()
	select {
	case <-confirmed:
		if err := e.confirm(g, t); !errors.Is(err, errNotConfirmed) {
			return err
		}
	case <-ctx.Done():
	case <-deadline.C:
	}
	return errors.Join(errNotConfirmed, e.revert(g, t))
}

// left returns in words how long a trial still has, 0s where that is over.
func (e *env) left(t trial) string {
	return inSeconds(e.clock().until(uint64(t)))
}

func inSeconds(left time.Duration) string { return render.Duration(max(0, left).Round(time.Second)) }

// confirm keeps what is on trial, or returns errNotConfirmed where it is too late for that.
func (e *env) confirm(g *global, t trial) error {
	if e.bootTime() >= uint64(t) {
		return errNotConfirmed
	}
	return e.opened(g, func(i *loader.Instance) error {
		config, err := i.Policies().Load()
		if err != nil {
			return err
		}
		if config.ValidUntil != uint64(t) || e.bootTime() >= uint64(t) {
			return errNotConfirmed
		}
		config.ValidUntil, config.TrialInterfaces = policymap.Forever, nil
		if err := i.Policies().Store(config); err != nil {
			return err
		}
		e.notice("kept")
		return i.Policies().DropFallback()
	})
}

// revert ends a trial that nobody confirmed. It does nothing to one that is over already.
func (e *env) revert(g *global, t trial) error {
	err := e.opened(g, func(i *loader.Instance) error {
		config, err := i.Policies().Load()
		if err != nil || config.ValidUntil != uint64(t) {
			return err
		}
		return change.EndTrial(i, config)
	})
	if errors.Is(err, loader.ErrNotLoaded) {
		return nil
	}
	return err
}

// settle finishes a trial whose time is over, and tells of one that is not.
func (e *env) settle(i *loader.Instance) error {
	left, err := change.Settle(i, e.bootTime())
	if left > 0 {
		e.notice("note: an attach is on trial for another %s; unless it is confirmed, changes to limits "+
			"and policies go with it", inSeconds(left))
	}
	return err
}

// watch starts the process that goes back at the deadline when this one cannot. It has a session of
// its own, so that neither Ctrl-C nor the end of the terminal reaches it.
func (e *env) watch(g *global, t trial) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the watch over the trial: %w", err)
	}
	pin, err := filepath.Abs(g.pin)
	if err != nil {
		return fmt.Errorf("start the watch over the trial: %w", err)
	}
	cmd := exec.Command(self, "--pin", pin, "try-watch", strconv.FormatUint(uint64(t), 10))
	cmd.SysProcAttr = ownSession()
	cmd.Dir = "/" // it must not keep the directory busy that it was started in
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the watch over the trial: %w", err)
	}
	return cmd.Process.Release()
}

// watchInterval is how often the watch looks whether it is still needed.
const watchInterval = time.Second

// waits says whether a trial still waits for an answer. Where that cannot be told it does.
func (e *env) waits(g *global, t trial) bool {
	waits := true
	err := e.reading(g, func(i *loader.Instance) error {
		config, err := i.Policies().Load()
		waits = err != nil || config.ValidUntil == uint64(t)
		return err
	})
	return waits && !errors.Is(err, loader.ErrNotLoaded)
}

// newTryWatchCmd is that process. It is not for people.
func newTryWatchCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:    "try-watch DEADLINE",
		Hidden: true,
		Args:   exactlyOne("deadline"),
		RunE: func(_ *cobra.Command, args []string) error {
			deadline, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return usagef("deadline %q: use ns of the boot clock", args[0])
			}
			for now := e.bootTime(); now < deadline; now = e.bootTime() {
				time.Sleep(min(time.Duration(deadline-now), watchInterval))
				if !e.waits(g, trial(deadline)) {
					return nil
				}
			}
			g.lockWait = time.Minute
			return e.revert(g, trial(deadline))
		},
	}
}
