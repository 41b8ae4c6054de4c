package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// Who presses Enter just after the deadline is told that it was too late, and by then it has all
// gone back.
func TestEnterTooLate(t *testing.T) {
	for name, existed := range map[string]bool{"new instance": false, "instance": true} {
		t.Run(name, func(t *testing.T) {
			const deadline = trial(testBoot)
			options := loader.Options{Dir: filepath.Join(netlabtest.BPFFS(t), "headgate"), MaxSources: 1 << 14, MaxRules: 1 << 10}
			makeTrial(t, options, deadline, existed)
			c := newConsole()
			c.stdin = strings.NewReader("\n")
			asked := false
			c.bootTime = func() uint64 {
				if !asked {
					asked = true
					return uint64(deadline) - uint64(time.Hour) // so that the timer is out of the way
				}
				return uint64(deadline)
			}
			err := c.awaitConfirmation(t.Context(), &global{pin: options.Dir, output: "table"}, deadline)
			if !errors.Is(err, errNotConfirmed) {
				t.Errorf("error %v, want %v", err, errNotConfirmed)
			}
			checkReverted(t, options, existed)
		})
	}
}

// makeTrial makes an instance with a trial, and with something to go back to where it existed.
func makeTrial(t *testing.T, options loader.Options, deadline trial, existed bool) {
	t.Helper()
	i, _, err := loader.Create(options)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if existed {
		if err := i.Policies().StoreFallback(testConfig(t)); err != nil {
			t.Fatal(err)
		}
	}
	config := policymap.NewConfig()
	config.ValidUntil = uint64(deadline)
	if err := i.Policies().Store(config); err != nil {
		t.Fatal(err)
	}
}

func checkReverted(t *testing.T, options loader.Options, existed bool) {
	t.Helper()
	i, err := loader.Open(options)
	if !existed {
		if !errors.Is(err, loader.ErrNotLoaded) {
			t.Errorf("open: %v, want %v", err, loader.ErrNotLoaded)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	config, err := i.Policies().Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(policiesView(testConfig(t)), policiesView(config)); diff != "" || config.ValidUntil != policymap.Forever {
		t.Errorf("valid until %d, policies (-want +got):\n%s", config.ValidUntil, diff)
	}
	if _, left, err := i.Policies().Fallback(); left || err != nil {
		t.Errorf("fallback left: %t, %v", left, err)
	}
}
