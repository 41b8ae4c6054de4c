package policymap_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

// What a trial gave an id to is gone with it, but its rules and buckets may not be: where an older
// configuration comes back, the next policy has an id that none had.
func TestIDsGrowAcrossAnOlderConfig(t *testing.T) {
	need.Root(t)
	for _, policies := range []int{0, 1} { // the older one has never given an id, or has
		lab := progtest.New(t, progtest.Options{})
		for n := range policies {
			lab.SetPolicy(limited("before", uint16(n+1)))
		}
		before := lab.Config()
		if err := lab.Policies.StoreFallback(before); err != nil {
			t.Fatal(err)
		}
		lab.SetPolicy(limited("trial", 7))
		given := lab.PolicyID("trial")

		fallback, ok, err := lab.Policies.Fallback()
		if err != nil || !ok {
			t.Fatalf("there is a fallback: %t, %v", ok, err)
		}
		if err := lab.Policies.Store(fallback); err != nil {
			t.Fatal(err)
		}
		lab.SetPolicy(limited("next", 8))
		if got := lab.PolicyID("next"); got != given+1 {
			t.Errorf("with %d policies before: the next id is %d, want %d", policies, got, given+1)
		}
	}
}

// Ids start again at 1 after 65535, also across an older configuration. One that has given no id
// yet is older than any.
func TestIDsWrapAround(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	store := func(configs ...policymap.Config) {
		t.Helper()
		for _, c := range configs {
			if err := lab.Policies.Store(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	config := lab.Config()
	giveIDs(t, &config, 40_000)
	store(config, policymap.NewConfig())
	lab.SetPolicy(limited("next", 1))
	if got := lab.PolicyID("next"); got != 40_001 {
		t.Errorf("the id after 40000 is %d", got)
	}

	giveIDs(t, &config, 65_535)
	older := config
	giveIDs(t, &config, 1)
	store(older, config, older)
	lab.SetPolicy(limited("second", 3))
	if got := lab.PolicyID("second"); got != 2 {
		t.Errorf("the id after 65535 and 1 is %d, want 2", got)
	}
}

// giveIDs makes policies until one has this id, and leaves that one.
func giveIDs(t *testing.T, c *policymap.Config, last uint16) {
	t.Helper()
	for {
		c.Policies = nil
		if set(t, c, limited("one", 1)).ID() == last {
			return
		}
	}
}

// A reader that meets a change sees the configuration before it or the one after it.
func TestLoadBesideStore(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	config := lab.Config()
	done := make(chan error)
	go func() { done <- storeMany(lab.Policies, config) }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		got, err := lab.Policies.Load()
		if err != nil {
			t.Fatal(errors.Join(err, <-done))
		}
		if got.IPv6Prefix != got.IPv4Prefix+64 && got.EventInterval == 1 {
			t.Errorf("half of a change: prefixes %d and %d", got.IPv4Prefix, got.IPv6Prefix)
		}
	}
}

func storeMany(m *policymap.Map, c policymap.Config) error {
	for n := range 100 {
		c.EventInterval, c.IPv4Prefix = 1, n%32
		c.IPv6Prefix = c.IPv4Prefix + 64
		if err := m.Store(c); err != nil {
			return fmt.Errorf("change %d: %w", n, err)
		}
	}
	return nil
}
