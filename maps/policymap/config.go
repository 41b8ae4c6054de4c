package policymap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// Overflow says what becomes of the packets of a source that is near its limit and has no bucket of its
// own, as there is no room or too many came at once.
type Overflow uint8

// The overflow modes.
const (
	OverflowEstimate = Overflow(bpf.OverflowEstimate) // its heat cell decides
	OverflowPass     = Overflow(bpf.OverflowPass)
	OverflowDrop     = Overflow(bpf.OverflowDrop)
)

// overflowShared was a mode before there were heat cells: one bucket for all sources without one.
const overflowShared = "shared"

var overflowNames = [...]string{OverflowEstimate: "estimate", OverflowPass: "pass", OverflowDrop: "drop"}

// String returns "estimate", "pass" or "drop".
func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return fmt.Sprintf("overflow %d", uint8(o))
}

// ParseOverflow is the inverse of Overflow.String.
func ParseOverflow(s string) (Overflow, error) {
	if i := slices.Index(overflowNames[:], s); i >= 0 {
		return Overflow(i), nil
	}
	if s == overflowShared {
		return 0, fmt.Errorf("overflow %q is no more: use estimate, by which each source has its own limit also where "+
			"there is no room, or limit all strangers together by a policy with --key shared --unverified", s)
	}
	return 0, fmt.Errorf("overflow %q: use estimate, pass or drop", s)
}

// Config is all that packets are decided by, but for the rules.
type Config struct {
	DryRun        bool          // decide and count everything, drop nothing
	EventInterval time.Duration // least time between two events of one CPU
	IPv4Prefix    int           // bits of an address that make a source
	IPv6Prefix    int
	Policies      []Policy // in the order in which they are asked, enforced ones first

	// ValidUntil is when the fallback takes over, in ns of the boot clock; Forever but while
	// `attach --try` waits for an answer. TrialInterfaces are those that only the trial is
	// attached to: there everything passes afterwards.
	ValidUntil      uint64
	TrialInterfaces []int

	nextID uint16
}

// Forever is the ValidUntil of a configuration that stays.
const Forever uint64 = math.MaxUint64

// NewConfig returns a configuration without policies, in which everything passes.
func NewConfig() Config {
	return Config{
		EventInterval: 10 * time.Millisecond,
		IPv4Prefix:    32,
		IPv6Prefix:    64,
		ValidUntil:    Forever,
	}
}

// Policy returns the policy of that name.
func (c *Config) Policy(name string) (Policy, bool) {
	i := c.index(name)
	if i < 0 {
		return Policy{}, false
	}
	return c.Policies[i], true
}

// PolicyName returns the name of the policy with that id, or "" where there is none any more.
func (c *Config) PolicyName(id uint16) string {
	for _, p := range c.Policies {
		if p.id == id {
			return p.Name
		}
	}
	return ""
}

// PolicyLabel returns the name of the policy with that id, or its number where it has been deleted; ""
// for 0, which is none.
func (c *Config) PolicyLabel(id uint16) string {
	if name := c.PolicyName(id); name != "" || id == 0 {
		return name
	}
	return fmt.Sprintf("#%d", id)
}

func (c *Config) index(name string) int {
	return slices.IndexFunc(c.Policies, func(p Policy) bool { return p.Name == name })
}

// Set adds a policy, or replaces the one of its name, which keeps its id, buckets and counters.
// counters are the totals of all slots now (statmap), from which a new policy starts at 0.
func (c *Config) Set(p Policy, counters [MaxPolicies][bpf.VerdictLen]bpf.Counter) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if err := c.checkDuplicate(p); err != nil {
		return err
	}
	return c.set(p, counters)
}

// SetFromConfig replaces all policies that came from a configuration file by those of a new one. A
// policy of a name that is there keeps its id, buckets and counters, whoever made it. An error
// leaves c in between.
func (c *Config) SetFromConfig(policies []Policy, counters [MaxPolicies][bpf.VerdictLen]bpf.Counter) error {
	c.Policies = slices.DeleteFunc(slices.Clone(c.Policies), func(old Policy) bool {
		named := func(p Policy) bool { return p.Name == old.Name }
		return old.FromConfig && !slices.ContainsFunc(policies, named)
	})
	for _, p := range policies {
		if err := p.Validate(); err != nil {
			return err
		}
		p.FromConfig = true
		if err := c.set(p, counters); err != nil {
			return err
		}
	}
	for _, p := range policies { // not before: they may have changed places
		if err := c.checkDuplicate(p); err != nil {
			return err
		}
	}
	return nil
}

// checkDuplicate refuses a policy beside which another one has no effect of its own.
func (c *Config) checkDuplicate(p Policy) error {
	for _, o := range c.Policies {
		if o.Name != p.Name && o.sameMatch(p) {
			return fmt.Errorf("%w: %q; change that one instead of making %q", ErrDuplicate, o.Name, p.Name)
		}
	}
	return nil
}

func (c *Config) set(p Policy, counters [MaxPolicies][bpf.VerdictLen]bpf.Counter) error {
	// Copies of a Config share their policies.
	c.Policies = slices.Clone(c.Policies)
	i := c.index(p.Name)
	if i >= 0 {
		old := c.Policies[i]
		p.id, p.slot, p.base = old.id, old.slot, old.base
		c.Policies[i] = p
		c.order()
		return nil
	}
	slot, ok := c.freeSlot()
	if !ok {
		return fmt.Errorf("%w %q: there are %d already, and %d is the most; delete one first",
			ErrTooMany, p.Name, len(c.Policies), MaxPolicies)
	}
	p.id, p.slot, p.base = c.newID(), slot, counters[slot]
	c.Policies = append(c.Policies, p)
	c.order()
	return nil
}

// Delete removes the policy of that name.
func (c *Config) Delete(name string) error {
	i := c.index(name)
	if i < 0 {
		return fmt.Errorf("%w: %q; `headgate policies` lists them", ErrNoPolicy, name)
	}
	c.Policies = slices.Delete(slices.Clone(c.Policies), i, i+1)
	return nil
}

// order puts enforced policies first, as the program wants them, and of these the ones that all
// unverified sources share: what they refuse opens no bucket at the others, so that a flood from
// forged addresses takes no room. Otherwise it keeps the order in which they were made.
func (c *Config) order() {
	slices.SortStableFunc(c.Policies, func(a, b Policy) int {
		return cmp.Or(
			cmp.Compare(boolInt(a.DryRun), boolInt(b.DryRun)),
			cmp.Compare(boolInt(b.forStrangers()), boolInt(a.forStrangers())),
		)
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *Config) freeSlot() (uint8, bool) {
	for slot := range uint8(MaxPolicies) {
		taken := func(p Policy) bool { return p.slot == slot }
		if !slices.ContainsFunc(c.Policies, taken) {
			return slot, true
		}
	}
	return 0, false
}

// newID counts up, so that a rule or bucket of a deleted policy does not become another's.
func (c *Config) newID() uint16 {
	for {
		c.nextID++
		taken := func(p Policy) bool { return p.id == c.nextID }
		if c.nextID != 0 && !slices.ContainsFunc(c.Policies, taken) {
			return c.nextID
		}
	}
}

// skipIDs makes the next id one that comes after last, too. Ids wrap around, so of two the one that
// is less than half the way ahead is the later; 0, which is no id, is before all.
func (c *Config) skipIDs(last uint16) {
	if last != 0 && (c.nextID == 0 || int16(last-c.nextID) > 0) {
		c.nextID = last
	}
}

func (c *Config) validate() error {
	if c.IPv4Prefix < 0 || c.IPv4Prefix > 32 {
		return fmt.Errorf("IPv4 prefix length %d: use 0 to 32", c.IPv4Prefix)
	}
	if c.IPv6Prefix < 0 || c.IPv6Prefix > 128 {
		return fmt.Errorf("IPv6 prefix length %d: use 0 to 128", c.IPv6Prefix)
	}
	if len(c.TrialInterfaces) > MaxTrialInterfaces {
		return fmt.Errorf("%d interfaces on trial; at most %d can be at once",
			len(c.TrialInterfaces), MaxTrialInterfaces)
	}
	if len(c.Policies) > MaxPolicies {
		return fmt.Errorf("%w: %d policies, and %d is the most", ErrTooMany, len(c.Policies), MaxPolicies)
	}
	return nil
}

func (c *Config) encode() (*bpf.Config, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	encoded := &bpf.Config{
		ValidUntil:    c.ValidUntil,
		EventInterval: uint64(c.EventInterval),
		Mask4:         wire.Mask(c.IPv4Prefix)[0],
		Mask6:         wire.Mask(c.IPv6Prefix),
		NextPolicyId:  c.nextID,
		Prefix4:       uint8(c.IPv4Prefix),
		Prefix6:       uint8(c.IPv6Prefix),
		PolicyCount:   uint32(len(c.Policies)),
	}
	for i, index := range c.TrialInterfaces {
		encoded.TrialInterfaces[i] = uint32(index)
	}
	if c.DryRun {
		encoded.Flags |= bpf.ConfigDryRun
	}
	for i, p := range c.Policies {
		policy, info, err := p.encode()
		if err != nil {
			return nil, err
		}
		encoded.Policies[i], encoded.Infos[p.slot] = policy, info
		if !p.DryRun {
			encoded.Enforced++
		}
	}
	if len(c.Policies) == 1 && encoded.Enforced == 1 && c.Policies[0].matchesAll() {
		encoded.OnlyDefault = 1
	}
	return encoded, nil
}

func decodeConfig(encoded *bpf.Config) Config {
	c := Config{
		DryRun:        encoded.Flags&bpf.ConfigDryRun != 0,
		EventInterval: time.Duration(encoded.EventInterval),
		IPv4Prefix:    int(encoded.Prefix4),
		IPv6Prefix:    int(encoded.Prefix6),
		ValidUntil:    encoded.ValidUntil,
		nextID:        encoded.NextPolicyId,
	}
	for _, index := range encoded.TrialInterfaces {
		if index != 0 {
			c.TrialInterfaces = append(c.TrialInterfaces, int(index))
		}
	}
	for i := range min(int(encoded.PolicyCount), MaxPolicies) {
		p := encoded.Policies[i]
		info := encoded.Infos[int(p.Slot)%MaxPolicies]
		c.Policies = append(c.Policies, decodePolicy(p, info, i >= int(encoded.Enforced)))
	}
	return c
}
