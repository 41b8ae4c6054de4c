// Package rulemap gives the rule maps a meaning: what is said of an address prefix, and until
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

// Actions returns all actions, the one that goes first first.
func Actions() []Action { return []Action{Allow, Block, Limit} }

var actionNames = [...]string{Limit: "limit", Block: "block", Allow: "allow"}

// String returns "limit", "block" or "allow".
func (a Action) String() string {
	if int(a) < len(actionNames) && actionNames[a] != "" {
		return actionNames[a]
	}
	return fmt.Sprintf("action %d", uint8(a))
}

// Origin says who made a rule. A prefix has room for one rule of an action; see Rule.GivesWay for
// which of two that is.
type Origin uint8

// The origins, the one that goes first first.
const (
	CLI Origin = iota
	Config
	HandDown
	Fleet
)

// Origins returns all origins, the one that goes first first.
func Origins() []Origin { return []Origin{CLI, Config, HandDown, Fleet} }

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

// GivesWay says whether a rule is left out where one of its prefix and action holds, made by held and
// holding until a time of the boot clock. What people say, by a command or in a file, goes before what
// was found out about a source. Otherwise of two that block, or allow, the one that lasts longer stays:
// it says all that the other does. Where that does not decide the origin before the other does.
func (r Rule) GivesWay(held Origin, until uint64) bool {
	switch {
	case held == r.Origin:
		return false
	case held.byPeople() && !r.Origin.byPeople():
		return true
	case r.Action != Limit && until != r.Until:
		return until > r.Until
	default:
		return held < r.Origin
	}
}

func (o Origin) byPeople() bool { return o < bpf.OriginPeople }

// apply puts a rule into the value of its prefix, beside the other actions' rules. It returns false
// where the rule gives way to one that holds at time now.
func (r Rule) apply(value *bpf.Rule, now uint64) (bool, error) {
	if until := value.Until[r.Action]; until > now && r.GivesWay(Origin(value.Origin[r.Action]), until) {
		return false, nil
	}
	if r.Action == Limit {
		limit, rates, err := wire.EncodeLimit(r.Limit)
		if err != nil {
			return false, err
		}
		value.Limit, value.Rate, value.PolicyId = limit, rates, r.PolicyID
	}
	value.Until[r.Action] = r.Until
	value.Origin[r.Action] = uint8(r.Origin)
	return true, nil
}

// strip takes the rules of an origin out of the value of a prefix.
func strip(value *bpf.Rule, origin Origin) {
	for _, action := range Actions() {
		if value.Until[action] != 0 && Origin(value.Origin[action]) == origin {
			clearAction(value, action)
		}
	}
}

// clearAction takes the rule of an action out of the value of a prefix.
func clearAction(value *bpf.Rule, action Action) {
	value.Until[action], value.Origin[action] = 0, 0
	if action == Limit {
		value.Limit, value.Rate, value.PolicyId = bpf.Limit{}, [bpf.DimensionLen]bpf.Rate{}, 0
	}
}

// holds says whether any rule in a value holds at time now.
func holds(value *bpf.Rule, now uint64) bool {
	return value.Until[Allow] > now || value.Until[Block] > now || value.Until[Limit] > now
}

// rulesOf returns the rules in the value of a prefix that hold at time now, allow before block
// before limit.
func rulesOf(prefix netip.Prefix, value *bpf.Rule, now uint64) []Rule {
	var rules []Rule
	for _, action := range Actions() {
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
