package agent

import (
	"context"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/handdown"
	"github.com/headgate/headgate/userspace/metrics"
	"github.com/headgate/headgate/userspace/verify"
)

// Kernel is the kernel's limiter, as the agent sees it. It outlives the agent. Its methods may be
// called at the same time.
type Kernel interface {
	admin.Kernel
	handdown.Kernel
	fleet.Kernel
	verify.Kernel

	// FleetRules returns the rules of origin fleet that are in force.
	FleetRules() ([]fleet.Rule, error)
	// Check returns what Apply would refuse, and changes nothing.
	Check(k config.Kernel) error
	// Apply makes the kernel's limiter what k says, or changes nothing and returns an error: it loads
	// or upgrades the program, attaches to the interfaces and detaches from those that it attached to
	// before, sets the default limit and the policies, and replaces the rules of origin config. Other rules, buckets and
	// counters stay. An interface that does not exist is no error: it is attached to when it comes. A default limit that
	// was set by hand stays where k has the same one as the Apply before.
	Apply(k config.Kernel) error
	// Scale sets the default limit to factor times what Apply set; the next Apply keeps the factor.
	Scale(factor float64) error
	// Follow attaches again to interfaces of the last Apply that were deleted and made again, and
	// tells what it sees, drops included, until ctx ends.
	Follow(ctx context.Context, tell func(event.Event)) error
	// Interfaces returns where packets are limited now, whoever has attached there, and what the last Apply named beside.
	Interfaces() ([]metrics.Interface, error)
	// Snapshot reads the counters.
	Snapshot() (metrics.Kernel, error)
	// Close closes what is open. The limiter stays in force.
	Close() error
}
