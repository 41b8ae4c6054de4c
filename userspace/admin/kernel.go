package admin

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// Kernel is what the API needs of the kernel's limiter. Its methods may be called at the same time.
// Errors that are the caller's fault are wrapped in a Refusal.
type Kernel interface {
	// Rules returns all rules that hold now, by prefix.
	Rules() ([]KernelRule, error)
	// SetRule sets a rule of origin cli, live; for 0 it has no end.
	SetRule(r config.PrefixRule, period time.Duration) error
	// Unset removes all rules of the prefixes, and returns those that had one.
	Unset(prefixes []netip.Prefix) ([]netip.Prefix, error)
	// Policies returns all policies with what they counted; the default one first.
	Policies() ([]KernelPolicy, error)
	// SetPolicy adds a policy, or replaces the one of its name; the name "default" has only a limit and an
	// overflow. Without an overflow it keeps the one that it has.
	SetPolicy(p config.Policy) error
	// DeletePolicy removes a policy. ErrNotFound if there is none of the name.
	DeletePolicy(name string) error
	// Top returns the sources that lost most, at most n.
	Top(n int) ([]KernelSource, error)
}

// Count is packets and bytes.
type Count struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

// KernelRule is a rule as `headgate rules -o json` shows it.
type KernelRule struct {
	Prefix         netip.Prefix `json:"prefix"`
	Action         string       `json:"action" enum:"allow,block,limit"`
	Rate           string       `json:"rate,omitempty"`
	Burst          uint64       `json:"burst,omitempty" doc:"packets"`
	Bandwidth      string       `json:"bandwidth,omitempty"`
	BandwidthBurst uint64       `json:"bandwidth_burst,omitempty" doc:"bytes"`
	Policy         string       `json:"policy,omitempty" doc:"whose limit it takes the place of"`
	Expires        *time.Time   `json:"expires" doc:"null for never"`
	Origin         string       `json:"origin" enum:"cli,config,handdown,fleet"`
}

// KernelPolicy is a policy and what it counted.
type KernelPolicy struct {
	Name           string `json:"name"`
	Proto          string `json:"proto,omitempty" doc:"IP protocol by name or number; absent for any"`
	Ports          string `json:"ports,omitempty" doc:"destination ports, as 53 or 1000-2000; absent for any"`
	SYN            bool   `json:"syn,omitempty" doc:"only packets that open a TCP connection"`
	Unverified     bool   `json:"unverified,omitempty" doc:"only packets of sources that are not verified"`
	Key            string `json:"key" enum:"source,shared"`
	DryRun         bool   `json:"dry_run"`
	Overflow       string `json:"overflow" enum:"estimate,pass,drop" doc:"what becomes of packets of a source near its limit while there is no bucket for it"`
	Rate           string `json:"rate,omitempty"`
	Burst          uint64 `json:"burst,omitempty"`
	Bandwidth      string `json:"bandwidth,omitempty"`
	BandwidthBurst uint64 `json:"bandwidth_burst,omitempty"`
	Pass           Count  `json:"pass"`
	Drop           Count  `json:"drop"`
	WouldDrop      Count  `json:"would_drop"`
}

// KernelSource is what one policy counted of one source.
type KernelSource struct {
	Source    netip.Prefix `json:"source"`
	Policy    string       `json:"policy"`
	Pass      Count        `json:"pass"`
	Drop      Count        `json:"drop"`
	WouldDrop Count        `json:"would_drop"`
}

// Refusal is an error that is the caller's fault: it tells what to do otherwise.
type Refusal struct{ Err error }

// Error implements error.
func (r Refusal) Error() string { return r.Err.Error() }

// Unwrap returns what was wrong.
func (r Refusal) Unwrap() error { return r.Err }
