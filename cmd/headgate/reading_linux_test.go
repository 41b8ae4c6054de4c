package main

import (
	"encoding/json"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// newInstance makes an instance with three policies and three rules that is attached to nothing.
func newInstance(t *testing.T) (dir string, i *loader.Instance) {
	t.Helper()
	dir = filepath.Join(netlabtest.BPFFS(t), "headgate")
	i, _, err := loader.Create(loader.Options{Dir: dir, MaxSources: 1 << 14, MaxRules: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := i.Policies().Store(testConfig(t)); err != nil {
		t.Fatal(err)
	}
	_, err = i.Rules().SetAll([]rulemap.Rule{
		{
			Prefix: netip.MustParsePrefix("203.0.113.0/24"), Action: rulemap.Limit, Until: rulemap.Forever,
			Limit: wire.Limit{Packets: packetQuota(t, "100pps", 200)}, PolicyID: 1,
		},
		{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Action: rulemap.Block, Until: rulemap.Forever},
		{Prefix: netip.MustParsePrefix("2001:db8::/32"), Action: rulemap.Allow, Until: rulemap.Forever, Origin: rulemap.Config},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dir, i
}

// readJSON runs a command on the instance at dir with the real clocks, and decodes what it prints.
func readJSON(t *testing.T, dir string, view any, args ...string) {
	t.Helper()
	c := newConsole()
	c.now, c.bootTime = time.Now, wire.BootTime
	args = append(args, "--pin", dir, "-o", "json")
	if code := c.run(t, args...); code != exitDone {
		t.Fatalf("%v: exit %d, %s", args, code, c.err.String())
	}
	if err := json.Unmarshal(c.out.Bytes(), view); err != nil {
		t.Fatalf("%v: %v in %s", args, err, c.out.String())
	}
}

func TestReadRules(t *testing.T) {
	dir, _ := newInstance(t)
	limit := render.Rule{
		Prefix: "203.0.113.0/24", Action: "limit", Limit: render.Limit{Rate: "100pps", Burst: 200},
		Policy: "default", Origin: "cli",
	}
	block := render.Rule{Prefix: "203.0.113.7/32", Action: "block", Origin: "cli"}
	allow := render.Rule{Prefix: "2001:db8::/32", Action: "allow", Origin: "config"}
	tests := []struct {
		args string
		want render.Rules
	}{
		{"rules", render.Rules{limit, block, allow}},
		{"rules --action block", render.Rules{block}},
		{"rules 203.0.113.7", render.Rules{block}},
		{"rules 203.0.113.8", render.Rules{limit}},
		{"rules 2001:db8::1", render.Rules{allow}},
		{"rules 192.0.2.1", render.Rules{}},
	}
	for _, tt := range tests {
		var got render.Rules
		readJSON(t, dir, &got, strings.Fields(tt.args)...)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestReadPolicies(t *testing.T) {
	dir, _ := newInstance(t)
	var got render.Policies
	readJSON(t, dir, &got, "policies")
	if diff := cmp.Diff(policiesView(testConfig(t)), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// verifyTwo makes two sources verified for an hour, and one whose time is over.
func verifyTwo(t *testing.T, i *loader.Instance) {
	t.Helper()
	addrs := []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("2001:db8::"), netip.MustParseAddr("203.0.113.2")}
	now := wire.BootTime()
	if err := errors.Join(i.Verified().Add(addrs[:2], now+uint64(time.Hour)), i.Verified().Add(addrs[2:], now-min(now, 1<<31))); err != nil {
		t.Fatal(err)
	}
}

func TestReadStats(t *testing.T) {
	dir, i := newInstance(t)
	verifyTwo(t, i)
	var got render.Stats
	readJSON(t, dir, &got, "stats")
	var policies []string
	for _, p := range got.Policies {
		policies = append(policies, p.Name)
	}
	if diff := cmp.Diff([]string{"default", "dns", "syn"}, policies); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Reasons) != int(bpf.ReasonLen) || got.Capacity == 0 || got.VerifiedSources != 2 || got.Interfaces == nil {
		t.Errorf("%+v", got)
	}
}

func TestReadStatus(t *testing.T) {
	dir, i := newInstance(t)
	config := testConfig(t)
	config.ValidUntil = wire.BootTime() + uint64(time.Hour)
	if err := i.Policies().Store(config); err != nil {
		t.Fatal(err)
	}
	verifyTwo(t, i)
	var got render.Status
	readJSON(t, dir, &got, "status")
	if got.VerifiedSources != 2 {
		t.Errorf("%d verified sources, want 2", got.VerifiedSources)
	}
	if got.Pin != dir || got.Policies != 3 || got.Rules != 3 || got.Overflow != "estimate" || got.Outdated {
		t.Errorf("%+v", got)
	}
	if got.Try == nil || got.Try.Seconds < 3500 || got.Try.Seconds > 3600 {
		t.Errorf("try: %+v", got.Try)
	}
	holds, few := 163_840_000.0, 512.0 // see package heatmap
	want := render.Heat{MemoryBytes: 1 << 20, Cells: 1 << 16, Policies: []render.HeldPolicy{{Policy: "default", HoldsPPS: &holds}, {Policy: "syn", HoldsPPS: &few}}}
	if diff := cmp.Diff(want, got.Heat); diff != "" {
		t.Errorf("heat (-want +got):\n%s", diff)
	}
	if len(got.Memory.Maps) != len(bpf.PinnedMaps()) || got.Memory.Bytes == 0 {
		t.Errorf("memory: %+v", got.Memory)
	}
}

// What was tried and not confirmed is not what is shown.
func TestReadAfterATry(t *testing.T) {
	dir, i := newInstance(t)
	config := policymap.NewConfig()
	config.ValidUntil = 1
	if err := i.Policies().Store(config); err != nil {
		t.Fatal(err)
	}
	if err := i.Policies().StoreFallback(testConfig(t)); err != nil {
		t.Fatal(err)
	}
	var got render.Policies
	readJSON(t, dir, &got, "policies")
	if len(got) != 3 {
		t.Errorf("%d policies, want the 3 of the fallback", len(got))
	}
}

func TestReadTop(t *testing.T) {
	dir, _ := newInstance(t)
	var got render.Top
	readJSON(t, dir, &got, "top", "--once")
	if got == nil || len(got) != 0 {
		t.Errorf("%#v", got)
	}
}

// Events end by themselves, and have one reader at a time.
func TestReadEvents(t *testing.T) {
	dir, i := newInstance(t)
	c := newConsole()
	if code := c.run(t, "events", "--for", "1ns", "--pin", dir); code != exitDone || !strings.HasPrefix(c.out.String(), "TIME") {
		t.Errorf("exit %d, out %q, err %q", code, c.out.String(), c.err.String())
	}
	contains(t, c.err.String(), "no agent reads these")
	c = newConsole()
	if code := c.run(t, "events", "--for", "1ns", "-o", "json", "--pin", dir); code != exitDone || c.err.Len() > 0 {
		t.Errorf("for a program: exit %d, err %q", code, c.err.String())
	}

	reader, err := i.Events()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	c = newConsole()
	code := c.run(t, "events", "--for", "1ns", "--pin", dir)
	if message := c.err.String(); code != exitFailed || !strings.Contains(message, "until that `headgate events` has ended") || c.out.Len() > 0 {
		t.Errorf("exit %d, out %q, err %q", code, c.out.String(), message)
	}
}

func TestReadTables(t *testing.T) {
	dir, _ := newInstance(t)
	for args, want := range map[string]string{
		"policies":          "default  all",
		"rules":             "203.0.113.7/32",
		"rules 203.0.113.7": "203.0.113.7/32  block",
		"rules 192.0.2.1":   "no rule applies to 192.0.2.1",
		"stats":             "no packets yet",
		"status":            "attached to no interface",
		"top":               "no sources yet",
	} {
		c := newConsole()
		code := c.run(t, append(strings.Fields(args), "--pin", dir)...)
		if code != exitDone || !strings.Contains(c.out.String(), want) {
			t.Errorf("%s: exit %d, want %q in\n%s%s", args, code, want, c.out.String(), c.err.String())
		}
	}
}

// A shell proposes the prefixes that have rules, and the policies, where they may be looked at.
func TestCompleteFromInstance(t *testing.T) {
	dir, _ := newInstance(t)
	c := newConsole()
	c.getenv = environment(map[string]string{"HEADGATE_PIN": dir})
	var policies []string
	for _, p := range testConfig(t).Policies {
		policies = append(policies, p.Name)
	}
	rules := []string{"default", "203.0.113.0/24", "203.0.113.7/32", "2001:db8::/32"}
	for words, want := range map[string][]string{
		"unset ":                        rules,
		"unset default 203.0.113.7/32 ": {"203.0.113.0/24", "2001:db8::/32"},
		"set ":                          rules,
		"set 203.0.113.0/24 ":           nil,
		"set 203.0.113.0/24 --policy ":  policies,
		"policy set ":                   policies,
		"policy delete ":                policies,
		"unset --pin /nowhere ":         {"default"},
	} {
		if got := c.proposed(t, strings.Split(words, " ")...); !slices.Equal(got, want) {
			t.Errorf("%q: proposed %q, want %q", words, got, want)
		}
	}
}
