// Package rulemap gives the rule maps a meaning: what is said of an address prefix, and until
// when. The program decides by them at each packet; a change takes effect at the next one.
package rulemap

import (
	"fmt"
	"math"
	"net/netip"
	"time"

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

// The origins. Their numbers are in the maps of instances that run, so none ever gets another one.
const (
	CLI Origin = iota
	Config
	HandDown
	Fleet         // what a person says for all machines of a fleet
	FleetHandDown // what another machine of the fleet has handed down; its name is that of Fleet
)

// Origins returns the origins that have a name of their own.
func Origins() []Origin { return []Origin{CLI, Config, HandDown, Fleet} }

var originNames = [...]string{CLI: "cli", Config: "config", HandDown: "handdown", Fleet: "fleet", FleetHandDown: "fleet"}

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
// holding until a time of the boot clock. What people say goes before what was found out about a source, and here, by a
// command or in a file, before what they say for all of a fleet. Otherwise of two that block, or allow, the one that lasts
// longer stays: it says all that the other does. Where that does not decide the origin before the other does: a command
// before the file, and what this machine has handed down before what another one has.
func (r Rule) GivesWay(held Origin, until uint64) bool {
	theirs, ours := held.say(), r.Origin.say()
	switch {
	case held == r.Origin:
		return false
	case theirs > ours:
		return true
	case r.Action != Limit && !SameEnd(until, r.Until):
		return until > r.Until
	default:
		return theirs == ours && held < r.Origin
	}
}

// say is how much an origin has to say. The program itself takes only commands and the file for people (bpf.OriginPeople): a
// limit for all of a fleet proves nothing about who its sources are.
func (o Origin) say() int {
	switch o {
	case CLI, Config:
		return 2
	case Fleet:
		return 1
	default:
		return 0
	}
}

func (o Origin) byPeople() bool { return o.say() > 0 }

// sameEnd is how far apart two ends are at most that count as one.
const sameEnd = uint64(time.Second)

// SameEnd reports whether two ends are the same, but for what the way between two machines, or two readings of a clock,
// have made of one.
func SameEnd(a, b uint64) bool { return max(a, b)-min(a, b) < sameEnd }

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
