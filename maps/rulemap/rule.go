// Package rulemap gives the rule tries a meaning: what is said of an address prefix, and until
// when. The program decides by them at each packet; a change takes effect at the next one.
package rulemap

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// Action is what a rule does.
type Action uint8

// The actions. At one prefix Allow goes before Block before Limit.
const (
	Limit = Action(bpf.ActionLimit)
	Block = Action(bpf.ActionBlock)
	Allow = Action(bpf.ActionAllow)
)

var actionNames = [...]string{Limit: "limit", Block: "block", Allow: "allow"}

// String returns "limit", "block" or "allow".
func (a Action) String() string {
	if int(a) < len(actionNames) && actionNames[a] != "" {
		return actionNames[a]
	}
	return fmt.Sprintf("action %d", uint8(a))
}

// Origin says who made a rule.
type Origin uint8

// The origins.
const (
	CLI Origin = iota
	Config
	HandDown
	Fleet
)

var originNames = [...]string{CLI: "cli", Config: "config", HandDown: "handdown", Fleet: "fleet"}

// String returns "cli", "config", "handdown" or "fleet".
func (o Origin) String() string {
	if int(o) < len(originNames) {
		return originNames[o]
	}
	return fmt.Sprintf("origin %d", uint8(o))
}

// Forever is the end of a rule that has none.
const Forever uint64 = math.MaxUint64

// Rule is one thing that is said of a prefix.
type Rule struct {
	Prefix netip.Prefix // canonical, see wire.Prefix
	Action Action
	Until  uint64 // ns of the boot clock, or Forever
	Origin Origin

	// Of Limit rules: the limit, and the policy whose own limit it takes the place of.
	Limit    wire.Limit
	PolicyID uint16
}

// apply puts a rule into the value of its prefix, beside the other actions' rules.
func (r Rule) apply(value *bpf.Rule) error {
	if r.Action == Limit {
		limit, rates, err := wire.EncodeLimit(r.Limit)
		if err != nil {
			return err
		}
		value.Limit, value.Rate, value.PolicyId = limit, rates, r.PolicyID
	}
	value.PrefixLen = uint8(r.Prefix.Bits())
	value.Until[r.Action] = r.Until
	value.Origin[r.Action] = uint8(r.Origin)
	return nil
}

// rulesOf returns the rules in the value of a prefix that hold at time now, allow before block
// before limit.
func rulesOf(prefix netip.Prefix, value *bpf.Rule, now uint64) []Rule {
	var rules []Rule
	for _, action := range []Action{Allow, Block, Limit} {
		if value.Until[action] <= now {
			continue
		}
		rule := Rule{
			Prefix: prefix,
			Action: action,
			Until:  value.Until[action],
			Origin: Origin(value.Origin[action]),
		}
		if action == Limit {
			rule.Limit = wire.DecodeLimit(value.Limit, value.Rate)
			rule.PolicyID = value.PolicyId
		}
		rules = append(rules, rule)
	}
	return rules
}
