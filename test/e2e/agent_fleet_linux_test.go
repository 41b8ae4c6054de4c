package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/redislab"
)

// inFleet is strict on a machine of a fleet.
const inFleet = strict + `
redis: {addrs: ["REDIS"], name: NAME}
fleet: {}
`

// fleetLab is machines with an agent each, which reach a Redis by a network of their own.
type fleetLab struct {
	tb     testing.TB
	middle *netlab.Namespace // where Redis is
	redis  *redislab.Server
	sites  []*site
}

func newFleetLab(tb testing.TB, machines int) *fleetLab {
	tb.Helper()
	f := &fleetLab{tb: tb, middle: netlabtest.Namespace(tb)}
	for range machines {
		f.sites = append(f.sites, newSite(tb))
	}
	for i, s := range f.sites {
		pair, err := netlab.NewPair(f.middle, s.pair.Far.Namespace, netlab.PairOptions{
			NearName: fmt.Sprintf("to%d", i), FarName: "middle0",
			NearAddrs: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.9.%d.1/24", i))},
			FarAddrs:  []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.9.%d.2/24", i))},
		})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = pair.Close() })
	}
	f.redis = redislab.StartInside(tb, f.middle.Do)
	return f
}

// start starts the agent of machine i.
func (f *fleetLab) start(i int) {
	f.tb.Helper()
	f.sites[i].start(f.config(i, inFleet))
}

func (f *fleetLab) config(i int, text string) string {
	return strings.NewReplacer("REDIS", fmt.Sprintf("10.9.%d.1:6379", i), "NAME", fmt.Sprintf("web-%d", i+1)).Replace(text)
}

// fleetJSON is what `headgate fleet` shows.
type fleetJSON struct {
	Members []struct {
		Name   string
		Self   bool
		Behind int
	}
}

// awaitMembers waits until each of the first n machines knows of n.
func (f *fleetLab) awaitMembers(n int) {
	f.tb.Helper()
	for _, s := range f.sites[:n] {
		await(f.tb, fmt.Sprintf("%d members", n), func() bool {
			var seen fleetJSON
			if err := json.Unmarshal([]byte(s.must("fleet", "-o", "json").stdout), &seen); err != nil {
				f.tb.Fatal(err)
			}
			return len(seen.Members) == n
		})
	}
}

// awaitRule waits until machine i has a rule of the fleet for a prefix, and returns how long that took.
func (f *fleetLab) awaitRule(i int, prefix, want string) time.Duration {
	f.tb.Helper()
	began := time.Now()
	await(f.tb, fmt.Sprintf("%q for %s at machine %d", want, prefix, i+1), func() bool {
		return f.sites[i].rulesByPrefix()[prefix] == want
	})
	return time.Since(began)
}

// What one of three machines hands down, the kernels of the others drop, too; so does one that was down, once it is there. What
// a person wants of one is done by all.
func TestFleetDropsTogether(t *testing.T) {
	t.Parallel()
	f := newFleetLab(t, 4)
	one, two, three, late := f.sites[0], f.sites[1], f.sites[2], f.sites[3]
	for i := range 3 {
		f.sites[i].startBackend(nil)
		f.start(i)
	}
	f.awaitMembers(3)
	for _, s := range f.sites[:3] {
		s.wantPassed(flooder, 5, 5)
	}

	one.browser(flooder).wantStatuses(4, 1)
	refused := time.Now()
	two.awaitDropped()
	three.awaitDropped()
	t.Logf("the offender's packets were dropped on all machines %v after its third refusal on one", time.Since(refused))
	for i, want := range []string{"block handdown", "block fleet", "block fleet"} {
		f.awaitRule(i, flooder+"/32", want)
		f.sites[i].wantPassed(flooder, 20, 0)
		f.sites[i].wantPassed(neighbour, 20, 20)
	}

	f.start(3)
	f.awaitRule(3, flooder+"/32", "block fleet")
	late.wantPassed(flooder, 20, 0)
	late.wantPassed(modest, 20, 20)

	two.must("block", "--fleet", modest, "--for", "1h")
	for i := range f.sites {
		t.Logf("machine %d blocks %v later", i+1, f.awaitRule(i, modest+"/32", "block fleet"))
		f.sites[i].wantPassed(modest, 20, 0)
	}
	three.must("unset", "--fleet", modest, flooder)
	for _, s := range f.sites {
		await(t, "nothing is blocked", func() bool { return s.rulesByPrefix()[modest+"/32"] == "" })
		s.wantPassed(modest, 20, 20)
		await(t, "the offender is free", func() bool { return s.rulesByPrefix()[flooder+"/32"] == "" })
	}
}

// A machine drops what the fleet does while Redis is gone, and after that it takes part again by itself.
func TestFleetWithoutRedis(t *testing.T) {
	t.Parallel()
	f := newFleetLab(t, 2)
	for i := range 2 {
		f.start(i)
	}
	f.awaitMembers(2)
	f.sites[0].must("block", "--fleet", flooder, "--for", "1h")
	f.awaitRule(1, flooder+"/32", "block fleet")

	f.redis.Kill()
	f.sites[0].command("block", "--fleet", modest, "--for", "1h").run().wantError(t, 1, "redis")
	f.sites[1].wantPassed(flooder, 20, 0)
	f.sites[1].wantPassed(modest, 20, 20)

	f.redis.Restart() // with no data
	f.awaitMembers(2)
	for i, s := range f.sites {
		f.awaitRule(i, flooder+"/32", "block fleet")
		s.wantPassed(flooder, 20, 0)
	}
	f.sites[1].must("block", "--fleet", modest, "--for", "1h")
	f.awaitRule(0, modest+"/32", "block fleet")
}
