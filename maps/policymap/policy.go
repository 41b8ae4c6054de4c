// Package policymap gives the configuration map a meaning: the policies and the settings that
// the program decides by. A configuration is replaced as a whole, so that no packet sees half of
// a change.
package policymap

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/ipproto"
)

// Default is the name of the policy that every IP packet matches. It is the only one that may be
// without a limit: then it counts only.
const Default = "default"

// MaxPolicies is how many policies there can be, the default one included.
const MaxPolicies = bpf.MaxPolicies

// MaxTrialInterfaces is how many interfaces one trial can attach to.
const MaxTrialInterfaces = bpf.MaxTrialInterfaces

// Errors that a caller may want to tell apart.
var (
	ErrTooMany   = errors.New("no room for another policy")
	ErrNoPolicy  = errors.New("no such policy")
	ErrDuplicate = errors.New("a policy that matches the same packets exists")
)

// Ports is a range of destination ports, both ends included. The zero Ports is any port, also of
// packets without one.
type Ports struct {
	First, Last uint16
}

// String returns "53", "1000-2000", or "" for any.
func (p Ports) String() string {
	switch {
	case p == Ports{}:
		return ""
	case p.First == p.Last:
		return fmt.Sprint(p.First)
	default:
		return fmt.Sprintf("%d-%d", p.First, p.Last)
	}
}

// Key says what a policy counts by.
type Key uint8

// The keys.
const (
	PerSource Key = iota // a bucket for each source
	Shared               // one bucket for all that match
)

// String returns "source" or "shared".
func (k Key) String() string {
	if k == Shared {
		return "shared"
	}
	return "source"
}

// Policy says which packets are counted, by what, and how many may pass.
type Policy struct {
	Name   string // 1 to 31 of a-z, 0-9, "-" and "_"
	Proto  uint8  // IP protocol; only where HasProto
	Ports  Ports
	SYN    bool // only packets that open a TCP connection
	Key    Key
	DryRun bool // count only, drop nothing
	Limit  wire.Limit

	Overflow Overflow

	HasProto bool

	// Unverified leaves out packets of sources that are verified: that proved to be who they say
	// (verifiedmap), or that people have set a limit for.
	Unverified bool

	// FromConfig says that a configuration file has it, which may take it away again.
	FromConfig bool

	id   uint16
	slot uint8
	base [bpf.VerdictLen]bpf.Counter
}

// ID identifies the policy in rules and buckets. It is 0 before the policy is in a Config.
func (p Policy) ID() uint16 { return p.id }

// Slot is the place of the policy's counters, and Baseline what they were when it took it.
func (p Policy) Slot() int { return int(p.slot) }

// Baseline returns what the slot's counters were when the policy took it.
func (p Policy) Baseline() [bpf.VerdictLen]bpf.Counter { return p.base }

// Validate returns an error that says what is wrong with the policy.
func (p Policy) Validate() error {
	if err := validateName(p.Name); err != nil {
		return err
	}
	if p.Limit.IsZero() && p.Name != Default {
		return fmt.Errorf("policy %q has no limit; give it a rate, a bandwidth, or both", p.Name)
	}
	if p.Ports.First > p.Ports.Last {
		return fmt.Errorf("policy %q: the port range %d-%d ends before it starts",
			p.Name, p.Ports.First, p.Ports.Last)
	}
	if p.HasProto && p.Ports != (Ports{}) && !ipproto.HasPorts(p.Proto) {
		return fmt.Errorf("policy %q: protocol %d has no ports; leave out the port, "+
			"or choose tcp, udp, sctp, dccp or udplite", p.Name, p.Proto)
	}
	if p.SYN && p.HasProto && p.Proto != ipproto.TCP {
		return fmt.Errorf("policy %q: only TCP packets can be a SYN, not protocol %d", p.Name, p.Proto)
	}
	_, err := p.Limit.Compile()
	if err != nil {
		return fmt.Errorf("policy %q: %w", p.Name, err)
	}
	return nil
}

func validateName(name string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	if name == "" || len(name) >= bpf.NameLen || strings.Trim(name, allowed) != "" {
		return fmt.Errorf("policy name %q: use 1 to %d of a-z, 0-9, - and _", name, bpf.NameLen-1)
	}
	return nil
}

// sameMatch says that two policies see the same packets and keep the same buckets, so that one of
// them would have no effect of its own.
func (p Policy) sameMatch(o Policy) bool {
	return p.HasProto == o.HasProto && p.Proto == o.Proto && p.Ports == o.Ports &&
		p.SYN == o.SYN && p.Unverified == o.Unverified && p.Key == o.Key && p.DryRun == o.DryRun
}

func (p Policy) matchesAll() bool {
	return !p.HasProto && p.Ports == (Ports{}) && !p.SYN && !p.Unverified
}

// forStrangers says that all unverified sources share one bucket.
func (p Policy) forStrangers() bool { return p.Unverified && p.Key == Shared }

func (p Policy) encode() (bpf.Policy, bpf.PolicyInfo, error) {
	limit, rates, err := wire.EncodeLimit(p.Limit)
	if err != nil {
		return bpf.Policy{}, bpf.PolicyInfo{}, fmt.Errorf("policy %q: %w", p.Name, err)
	}
	policy := bpf.Policy{Limit: limit, Id: p.id, Slot: p.slot, Overflow: uint8(p.Overflow)}
	if p.HasProto {
		policy.Flags |= bpf.PolicyProto
		policy.Proto = p.Proto
	}
	if p.Ports != (Ports{}) {
		policy.Flags |= bpf.PolicyPorts
		policy.PortFirst, policy.PortLast = p.Ports.First, p.Ports.Last
	}
	if p.SYN {
		policy.Flags |= bpf.PolicySyn
	}
	if p.Unverified {
		policy.Flags |= bpf.PolicyUnverified
	}
	if p.Key == Shared {
		policy.Flags |= bpf.PolicyShared
	}
	if p.FromConfig {
		policy.Flags |= bpf.PolicyConfig
	}
	info := bpf.PolicyInfo{Rate: rates, Baseline: p.base}
	copy(info.Name[:], p.Name)
	return policy, info, nil
}

func decodePolicy(p bpf.Policy, info bpf.PolicyInfo, dryRun bool) Policy {
	name, _, _ := bytes.Cut(info.Name[:], []byte{0})
	policy := Policy{
		Name:     string(name),
		SYN:      p.Flags&bpf.PolicySyn != 0,
		DryRun:   dryRun,
		Limit:    wire.DecodeLimit(p.Limit, info.Rate),
		HasProto: p.Flags&bpf.PolicyProto != 0,
		Proto:    p.Proto,
		Overflow: Overflow(p.Overflow),

		Unverified: p.Flags&bpf.PolicyUnverified != 0,
		FromConfig: p.Flags&bpf.PolicyConfig != 0,

		id:   p.Id,
		slot: p.Slot,
		base: info.Baseline,
	}
	if p.Flags&bpf.PolicyPorts != 0 {
		policy.Ports = Ports{p.PortFirst, p.PortLast}
	}
	if p.Flags&bpf.PolicyShared != 0 {
		policy.Key = Shared
	}
	return policy
}
