package handdown

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// Rule is a rule of the kernel for an offender.
type Rule struct {
	Prefix netip.Prefix       // canonical: masked, and not an IPv4-mapped one
	Action config.Action      // Block or Limit
	Limit  config.KernelLimit // of action Limit
	// For is how long it holds; what is left of it in a Rule that Kernel returns.
	For time.Duration
}

// Kernel is what is needed of the kernel's limiter. Its methods may be called at the same time.
type Kernel interface {
	// Enforce makes rules of origin handdown, all of them or none, in force when it returns. It
	// leaves rules of other origins at the same prefixes as they are.
	Enforce(rules []Rule) error
	// Protected returns why a prefix must not be dropped: an allow rule that has to do with it, or
	// the address of who administers the machine. Empty where there is nothing.
	Protected(prefix netip.Prefix) (reason string, err error)
	// Enforced reports whether that very prefix is blocked or limited, by what Enforce has made or by what that gave way to.
	// It is quick.
	Enforced(prefix netip.Prefix) (bool, error)
	// FleetRule returns the rule of origin fleet that blocks or limits that very prefix: what another machine has handed down,
	// or a person says for all of them. The zero Rule where there is none. It is quick.
	FleetRule(prefix netip.Prefix) (Rule, error)
	// HandedDown returns the rules of origin handdown that are in force.
	HandedDown() ([]Rule, error)
}
