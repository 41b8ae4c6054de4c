package agent

import (
	"fmt"
	"net/netip"

	"github.com/headgate/headgate/userspace/admin"
)

// Fleet implements admin.Agent.
func (a *Agent) Fleet() (admin.Fleet, error) { return admin.Fleet{}, noFleet() }

// SetFleet implements admin.Agent.
func (a *Agent) SetFleet([]admin.FleetRule) error { return noFleet() }

// UnsetFleet implements admin.Agent.
func (a *Agent) UnsetFleet([]netip.Prefix) ([]netip.Prefix, error) { return nil, noFleet() }

func noFleet() error { return fmt.Errorf("a fleet is %w; add a redis section", admin.ErrOff) }
