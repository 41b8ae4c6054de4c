package ruleset

import (
	"cmp"
	"fmt"

	"github.com/headgate/headgate/userspace/config"
)

// rule is which limits apply to which requests.
type rule struct {
	name  string
	match match
	uses  []*use
	// status of a rejection, and failStatus of one because the store did not answer.
	status, failStatus int
	onFailure          Way // what limits in the store do then: Local, Open or Closed
	// group is 0 for a rule that is enforced, else a number that no other has.
	group int
	// more says that the rules behind it are looked at too.
	more  bool
	tally *tally
}

// use is a zone as a rule uses it.
type use struct {
	rule *rule
	zone *zone
	// burst and delay are as in config.Use.
	burst, delay uint64
	cost         uint64
	bounds       []bound // by the number of the zone's quota
}

// newRule returns the rule that is the i-th of the file. Its limits are among the uses
// of their zones, who set their bounds.
func newRule(c config.Rule, i int, zones []*zone, tally *tally) (*rule, error) {
	r := &rule{
		name:   nameOf(c, i),
		tally:  tally,
		match:  newMatch(c.Match),
		status: cmp.Or(c.Status, config.DefaultStatus),
		more:   c.Continue,

		failStatus: cmp.Or(c.FailStatus, c.Status, config.DefaultFailStatus),
		onFailure:  wayOf(c.OnStoreFailure),
	}
	if c.DryRun {
		r.group = i + 1
	}
	for j, written := range c.Limits {
		if written.Zone < 0 || written.Zone >= len(zones) {
			return nil, fmt.Errorf("%s: limit %d uses zone %d of %d, counted from 0", r.name, j+1, written.Zone, len(zones))
		}
		z := zones[written.Zone]
		u := &use{rule: r, zone: z, burst: written.Burst, delay: written.Delay, cost: max(written.Cost, 1)}
		z.uses = append(z.uses, u)
		r.uses = append(r.uses, u)
	}
	return r, nil
}

// nameOf returns the name of the rule that is the i-th of the file.
func nameOf(c config.Rule, i int) string { return cmp.Or(c.Name, fmt.Sprintf("rule %d", i+1)) }
