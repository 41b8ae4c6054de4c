package lockout

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/maps/rulemap"
)

// fleetRule makes a rule that a person has made for a fleet.
func fleetRule(prefix string, action rulemap.Action) rulemap.Rule {
	r := rule(prefix, action, 0)
	r.Origin, r.PolicyID = rulemap.Fleet, 7
	return r
}

// What would cut off a peer of this machine is refused for all of them, whatever this one allows by itself.
func TestGuardFleet(t *testing.T) {
	session := Peer{Addr: netip.MustParseAddr("198.51.100.7"), What: "this SSH session", Port: 22, Interfaces: []int{99}}
	wide, exact := fleetRule("198.51.0.0/16", rulemap.Block), fleetRule("198.51.100.7/32", rulemap.Allow)
	local := rule("198.51.100.7/32", rulemap.Allow, 0)
	unread := errors.New("cannot be read")
	for name, tt := range map[string]struct {
		held   []rulemap.Rule
		err    error
		change Change
		want   string
	}{
		"a block":              {change: Setting([]rulemap.Rule{wide}), want: "blocking 198.51.0.0/16 would cut off 198.51.100.7, this SSH session"},
		"another's":            {change: Setting([]rulemap.Rule{fleetRule("198.52.0.0/16", rulemap.Block)})},
		"allowed by this one":  {held: []rulemap.Rule{local}, change: Setting([]rulemap.Rule{wide}), want: "blocking 198.51.0.0/16 would cut off 198.51.100.7, this SSH session"},
		"allowed by the fleet": {held: []rulemap.Rule{exact}, change: Setting([]rulemap.Rule{wide})},
		"allowed no more":      {held: []rulemap.Rule{wide, exact}, change: Unsetting([]netip.Prefix{exact.Prefix}), want: "blocking 198.51.0.0/16 would cut off 198.51.100.7, this SSH session"},
		"blocked already":      {held: []rulemap.Rule{wide}, change: Setting([]rulemap.Rule{wide})},
		"blocked by this one":  {held: []rulemap.Rule{rule("198.51.0.0/16", rulemap.Block, 0)}, change: Setting([]rulemap.Rule{wide}), want: "blocking 198.51.0.0/16 would cut off 198.51.100.7, this SSH session"},
		"a limit":              {change: Setting([]rulemap.Rule{fleetRule("198.51.100.7/32", rulemap.Limit)}), want: "a limit of 1pps, burst 1 for 198.51.100.7/32 would cut off 198.51.100.7, this SSH session"},
		"rules cannot be read": {err: unread, change: Setting([]rulemap.Rule{exact}), want: unread.Error()},
		"an allow rule":        {change: Setting([]rulemap.Rule{exact})},
	} {
		g := Guard{Peers: func() []Peer { return []Peer{session} }}
		err := g.Fleet(func(netip.Addr) ([]rulemap.Rule, error) { return tt.held, tt.err }, tt.change)
		if got := textOf(err); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
