package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

// trial is an attach that has to be confirmed. Three things watch over it, each for the case that
// the one before is gone: the command itself, a process of its own that it leaves behind, and the
// kernel, which after the deadline decides by the configuration from before.
type trial struct {
	Deadline   uint64 // ns of the boot clock; it identifies the trial
	Created    bool   // the instance is new: going back is to remove it
	Interfaces []int  // that this trial attached to
}

var errNotConfirmed = errors.New("not confirmed: everything is as it was before")

// awaitConfirmation waits for Enter. The end of input confirms nothing: a terminal that has died
// looks like that.
func (e *env) awaitConfirmation(ctx context.Context, g *global, t *trial) error {
	left := time.Duration(t.Deadline - min(e.bootTime(), t.Deadline))
	e.notice("press Enter within %s to keep this; otherwise, or with Ctrl-C, everything goes back to how it was",
		left.Round(time.Second))
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
		return e.confirm(g, t)
	case <-ctx.Done():
	case <-deadline.C:
	}
	return errors.Join(errNotConfirmed, e.revert(g, t))
}

func (e *env) confirm(g *global, t *trial) error {
	return e.opened(g, func(i *loader.Instance) error {
		config, err := i.Policies().Load()
		if err != nil {
			return err
		}
		if config.ValidUntil != t.Deadline || e.bootTime() >= t.Deadline {
			return errNotConfirmed
		}
		config.ValidUntil = policymap.Forever
		if err := i.Policies().Store(config); err != nil {
			return err
		}
		e.notice("kept")
		return i.Policies().DropFallback()
	})
}

// revert ends a trial that nobody confirmed. It does nothing to one that is over already.
func (e *env) revert(g *global, t *trial) error {
	err := e.opened(g, func(i *loader.Instance) error {
		config, err := i.Policies().Load()
		if err != nil || config.ValidUntil != t.Deadline {
			return err
		}
		if t.Created {
			return i.RemoveAll()
		}
		var errs []error
		for _, index := range t.Interfaces {
			errs = append(errs, i.Detach(index))
		}
		return errors.Join(append(errs, restoreFallback(i))...)
	})
	if errors.Is(err, loader.ErrNotLoaded) {
		return nil
	}
	return err
}

func restoreFallback(i *loader.Instance) error {
	fallback, ok, err := i.Policies().Fallback()
	if err != nil || !ok {
		return err
	}
	if err := i.Policies().Store(fallback); err != nil {
		return err
	}
	return i.Policies().DropFallback()
}

// settle finishes a trial whose time is over and that nobody was left to end, so that a change is
// not made to a configuration that is not in force.
func (e *env) settle(i *loader.Instance) error {
	config, err := i.Policies().Load()
	if err != nil || config.ValidUntil == policymap.Forever {
		return err
	}
	if now := e.bootTime(); now < config.ValidUntil {
		e.notice("note: an attach is on trial for another %s; unless it is confirmed, changes to limits "+
			"and policies go with it", time.Duration(config.ValidUntil-now).Round(time.Second))
		return nil
	}
	_, ok, err := i.Policies().Fallback()
	if err != nil {
		return err
	}
	if ok {
		return restoreFallback(i)
	}
	if err := i.RemoveAll(); err != nil {
		return err
	}
	return fmt.Errorf("%w: the trial of the last attach ended unconfirmed, so it was removed; attach again",
		loader.ErrNotLoaded)
}

// watch starts the process that goes back at the deadline when this one cannot. It has a session of
// its own, so that neither Ctrl-C nor the end of the terminal reaches it.
func (e *env) watch(g *global, t *trial) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the watch over the trial: %w", err)
	}
	args := []string{
		"--pin", g.pin, "try-watch",
		"--deadline", strconv.FormatUint(t.Deadline, 10),
		"--created=" + strconv.FormatBool(t.Created),
	}
	for _, index := range t.Interfaces {
		args = append(args, "--interface", strconv.Itoa(index))
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the watch over the trial: %w", err)
	}
	return cmd.Process.Release()
}

// newTryWatchCmd is that process. It is not for people.
func newTryWatchCmd(e *env, g *global) *cobra.Command {
	t := &trial{}
	cmd := &cobra.Command{
		Use:    "try-watch",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			for now := e.bootTime(); now < t.Deadline; now = e.bootTime() {
				time.Sleep(time.Duration(t.Deadline - now))
			}
			g.lockWait = time.Minute
			return e.revert(g, t)
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&t.Deadline, "deadline", 0, "end of the trial, ns of the boot clock")
	flags.BoolVar(&t.Created, "created", false, "the instance is new")
	flags.IntSliceVar(&t.Interfaces, "interface", nil, "interface that the trial attached to")
	return cmd
}
