//go:build linux

package progtest

import (
	"cmp"
	"net/netip"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/heat"
)

// walk is the way of one packet.
type walk struct {
	*Model
	config *policymap.Config
	packet Packet
	now    uint64
	rule   rulemap.Rule // the zero Rule where none holds

	untracked bool // a bucket that was needed could not be had
}

func (w *walk) outcome() Outcome {
	switch {
	case w.packet.Limited:
	case w.packet.Reason == bpf.ReasonMalformed:
		return w.refusal(bpf.ReasonMalformed)
	default:
		return Outcome{bpf.VerdictPass, w.packet.Reason}
	}
	w.rule = w.findRule()
	switch w.rule.Action {
	case rulemap.Allow:
		return Outcome{bpf.VerdictPass, bpf.ReasonAllowed}
	case rulemap.Block:
		return w.refusal(bpf.ReasonBlocked)
	}
	return w.askPolicies()
}

// refusal is to drop the packet, but where the whole configuration is in dry run.
func (w *walk) refusal(reason bpf.Reason) Outcome {
	if w.config.DryRun {
		return Outcome{bpf.VerdictWouldDrop, reason}
	}
	return Outcome{bpf.VerdictDrop, reason}
}

// findRule returns the rule that holds for the source: of the longest prefix, and at one prefix
// allow before block before limit.
func (w *walk) findRule() rulemap.Rule {
	holds := func(r rulemap.Rule) bool { return r.Until > w.now && r.Prefix.Contains(w.packet.Source) }
	var best rulemap.Rule
	for _, r := range w.Rules {
		if !holds(r) {
			continue
		}
		longer := cmp.Compare(r.Prefix.Bits(), best.Prefix.Bits())
		if best.Action == 0 || cmp.Or(longer, cmp.Compare(r.Action, best.Action)) > 0 {
			best = r
		}
	}
	return best
}

// askPolicies charges the packet to all enforced policies that match it, or to none. Those in dry
// run see what the enforced ones let pass, and each decides for itself.
func (w *walk) askPolicies() Outcome {
	var enforced, dry []policymap.Policy
	for _, p := range w.config.Policies {
		switch {
		case !w.matches(p):
		case p.DryRun:
			dry = append(dry, p)
		default:
			enforced = append(enforced, p)
		}
	}
	outcome := Outcome{bpf.VerdictPass, bpf.ReasonNoPolicy}
	if len(enforced) > 0 {
		outcome = w.enforce(enforced)
	}
	if outcome.Verdict == bpf.VerdictPass && len(dry) > 0 {
		outcome = w.watch(dry)
	}
	if outcome.Reason == bpf.ReasonUnderLimit && w.untracked {
		outcome.Reason = bpf.ReasonUntracked
	}
	return outcome
}

// watch asks the policies in dry run; the first that would drop the packet gives the reason.
func (w *walk) watch(policies []policymap.Policy) Outcome {
	outcome := Outcome{bpf.VerdictPass, bpf.ReasonUnderLimit}
	for _, p := range policies {
		a := w.take(p)
		if a.reason == bpf.ReasonUnderLimit {
			continue
		}
		w.count(p, bpf.VerdictWouldDrop, a.exact)
		if outcome.Verdict == bpf.VerdictPass {
			outcome = Outcome{bpf.VerdictWouldDrop, a.reason}
		}
	}
	return outcome
}

// enforce asks all before it charges any; of one alone it asks nothing first.
func (w *walk) enforce(policies []policymap.Policy) Outcome {
	ask := w.fits
	if len(policies) == 1 {
		ask = w.take
	}
	for _, p := range policies {
		if a := ask(p); a.reason != bpf.ReasonUnderLimit {
			outcome := w.refusal(a.reason)
			w.count(p, outcome.Verdict, a.exact)
			return outcome
		}
	}
	if len(policies) > 1 {
		for _, p := range policies {
			if a := w.take(p); a.reason != bpf.ReasonUnderLimit {
				panic("model: a packet that fitted does not")
			}
		}
	}
	return Outcome{bpf.VerdictPass, bpf.ReasonUnderLimit}
}

func (w *walk) matches(p policymap.Policy) bool {
	switch {
	case p.HasProto && p.Proto != w.packet.Proto:
		return false
	case p.SYN && !w.packet.SYN:
		return false
	case p.Unverified && w.verified():
		return false
	case p.Ports == policymap.Ports{}:
		return true
	}
	port := w.packet.DstPort
	return w.packet.HasPorts && port >= p.Ports.First && port <= p.Ports.Last
}

// verified says that the source has proved to be who it says, or that people have set a limit for it.
func (w *walk) verified() bool {
	if w.rule.Action == rulemap.Limit {
		return w.rule.Origin == rulemap.CLI || w.rule.Origin == rulemap.Config
	}
	return w.Verified[w.source()] > w.now>>bpf.VerifiedTickShift
}

// answer is what one policy says: the reason to refuse the packet, or ReasonUnderLimit; and whether
// that is counted for a bucket of the source.
type answer struct {
	reason bpf.Reason
	exact  bool
}

// fits says what take would, and charges nothing.
func (w *walk) fits(p policymap.Policy) answer {
	if w.isShared(p) {
		b := w.sharedBucket(p)
		return answer{reason: reasonOf(b.limit.Fits(b.Bucket, uint64(w.packet.Length), w.now))}
	}
	return w.answer(w.open(p).Fits(heat.Overflow(p.Overflow)))
}

// take charges the packet where it fits, and counts it as passed.
func (w *walk) take(p policymap.Policy) answer {
	var a answer
	if w.isShared(p) {
		b := w.sharedBucket(p)
		a.reason = reasonOf(b.limit.Take(&b.Bucket, uint64(w.packet.Length), w.now))
	} else {
		a = w.answer(w.open(p).Take(heat.Overflow(p.Overflow)))
	}
	if a.reason == bpf.ReasonUnderLimit {
		w.count(p, bpf.VerdictPass, a.exact)
	}
	return a
}

func reasonOf(r limit.Refusal) bpf.Reason {
	switch r {
	case limit.OverPackets:
		return bpf.ReasonOverPacketLimit
	case limit.OverBytes:
		return bpf.ReasonOverByteLimit
	}
	return bpf.ReasonUnderLimit
}

// answer translates what the tiers say, and notes down that the packet was decided without a bucket.
func (w *walk) answer(a heat.Answer) answer {
	w.untracked = w.untracked || a.Untracked && a.Passes
	if !a.Passes && a.Untracked {
		return answer{reason: bpf.ReasonUntracked}
	}
	return answer{reasonOf(a.Refusal), a.Exact}
}

// open finds the place where a policy charges the source.
func (w *walk) open(p policymap.Policy) *heat.Account[SourceKey] {
	source := wire.Source(w.source())
	return w.Tiers.Open(heat.Source[SourceKey]{
		Key:      SourceKey{w.source(), p.ID()},
		Hash:     wire.Hash(&w.salt, source.Policy|uint32(p.ID()), source.Addr),
		Region:   p.Slot(),
		Verified: w.verified,
	}, w.limit(p), uint64(w.packet.Length), w.now)
}

// sharedBucket returns the one bucket of a policy.
func (w *walk) sharedBucket(p policymap.Policy) *limitedBucket {
	compiled := w.limit(p)
	b, ok := w.shared[p.ID()]
	if !ok {
		b = &limitedBucket{compiled.Fresh(w.now), compiled}
		w.shared[p.ID()] = b
	}
	compiled.Adopt(&b.Bucket, b.limit, w.now)
	b.limit = compiled
	return b
}

// limit returns the limit that a policy sets for this source.
func (w *walk) limit(p policymap.Policy) limit.Limit {
	own := p.Limit
	if w.ruled(p) {
		own = w.rule.Limit
	}
	compiled, err := own.Compile()
	if err != nil {
		panic("model: a limit that no map would take: " + err.Error())
	}
	return compiled
}

// ruled says that a rule sets the limit of this policy for the source.
func (w *walk) ruled(p policymap.Policy) bool {
	return w.rule.Action == rulemap.Limit && w.rule.PolicyID == p.ID()
}

// isShared says that a policy charges a bucket that is not the source's. A source with a limit of its
// own has a bucket of its own also where the others share one.
func (w *walk) isShared(p policymap.Policy) bool { return p.Key == policymap.Shared && !w.ruled(p) }

// linkLocal has all valid link-local addresses (RFC 4291, 2.5.6); the rest of fe80::/10 is unused.
var linkLocal = netip.MustParsePrefix("fe80::/64")

// source cuts the address to the prefix that counts as one.
func (w *walk) source() netip.Addr {
	addr, bits := w.packet.Source, w.config.IPv6Prefix
	switch {
	case addr.Is4():
		bits = w.config.IPv4Prefix
	case linkLocal.Contains(addr):
		return addr
	}
	return netip.PrefixFrom(addr, bits).Masked().Addr()
}

// count counts the packet for a policy, and for its source where that has a bucket.
func (w *walk) count(p policymap.Policy, v bpf.Verdict, exact bool) {
	w.Policies[p.Name] = counted(w.Policies[p.Name], v, uint64(w.packet.Length))
	if exact {
		key := SourceKey{w.source(), p.ID()}
		w.Sources[key] = counted(w.Sources[key], v, uint64(w.packet.Length))
	}
}

func counted(s statmap.Slot, v bpf.Verdict, length uint64) statmap.Slot {
	switch v {
	case bpf.VerdictDrop:
		s.Drop = plus(s.Drop, length)
	case bpf.VerdictWouldDrop:
		s.WouldDrop = plus(s.WouldDrop, length)
		s.Pass = plus(s.Pass, length)
	default:
		s.Pass = plus(s.Pass, length)
	}
	return s
}
