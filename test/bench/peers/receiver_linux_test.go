package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/bench/flow"
	"github.com/headgate/headgate/test/need"
)

// TestReceiversLimit sets each receiver up for one source, and sends it more than the limit's burst, then a little more.
func TestReceiversLimit(t *testing.T) {
	need.Root(t)
	need.Program(t, "nft", "apt-get install nftables")
	need.Program(t, "iptables", "apt-get install iptables")
	programs, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range receivers(programs) {
		t.Run(r.name, func(t *testing.T) { testReceiver(t, r) })
	}
}

func testReceiver(t *testing.T, r receiver) {
	const packets = 20_000
	f, err := flow.Open(flow.Options{FirstSource: firstSource, Sources: 1, Port: framePort})
	if err != nil {
		t.Fatal(err)
	}
	tally, remove, err := r.setUp(f)
	if err != nil {
		t.Fatal(errors.Join(err, f.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(remove(), f.Close()); err != nil {
			t.Error(err)
		}
	})
	got, err := sample(f, tally, packets)
	if err != nil {
		t.Fatal(err)
	}
	if got.Packets < packets/2 || got.Packets > packets { // on a busy machine a receiver misses some
		t.Errorf("%d packets arrived, of %d", got.Packets, packets)
	}
	most := uint64(limitBurst*1.02 + limitRate*got.Elapsed.Seconds()) // the peers' clocks are coarse
	switch {
	case r.name == "no limiter" && got.Passed == got.Packets:
	case !r.limiter && got.Passed == 0 && got.Over == 0:
	case r.limiter && got.Passed+got.Over == got.Packets && got.Passed >= limitBurst && got.Passed <= most:
	default:
		t.Errorf("%d passed and %d over, in %v", got.Passed, got.Over, got.Elapsed)
	}
}

func TestReceiversDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range receivers(programs{}) {
		if r.name == "" || seen[r.name] {
			t.Errorf("name %q is empty or not the only one", r.name)
		}
		seen[r.name] = true
	}
}

func TestMost(t *testing.T) {
	for _, tt := range []struct {
		r       receiver
		sources uint64
		want    float64
	}{
		{receiver{}, 5, 0}, {receiver{limiter: true}, 5, 5 * limitRate}, {receiver{limiter: true}, 1 << 32, limitRate << 32},
		{receiver{limiter: true, total: true}, 1, limitRate}, {receiver{limiter: true, total: true}, 1000, totalRate},
	} {
		if got := tt.r.most(tt.sources); got != tt.want {
			t.Errorf("%+v of %d sources: %v, want %v", tt.r, tt.sources, got, tt.want)
		}
	}
}

// TestRulesLimitAlike compares the rules of nft with the limits of the others.
func TestRulesLimitAlike(t *testing.T) {
	for rules, want := range map[string]string{
		setRules:   fmt.Sprintf("{ ip saddr limit rate over %d/second burst %d packets }", limitRate, limitBurst),
		totalRules: fmt.Sprintf("\tlimit rate over %d/second burst %d packets ", totalRate, totalBurst),
	} {
		if !strings.Contains(rules, want) {
			t.Errorf("no %q in\n%s", want, rules)
		}
	}
}
