// Package fleet is what the machines that share a Redis know of each other: who there is, and which rules the kernels of
// all of them have.
package fleet

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/redisconn"
)

// Rule is a rule for the kernels of the fleet.
type Rule struct {
	Prefix netip.Prefix       // canonical: masked, and not an IPv4-mapped one
	Action config.Action      // Block, Limit or Allow
	Limit  config.KernelLimit // of action Limit; of the default policy
	// For is how long it holds from now on; 0 for no end.
	For time.Duration
	By  string // the member that published it
	// Person says that somebody set it, and not the hand-down of By.
	Person bool
	Reason string // in words; may be empty
}

// Kernel is what is needed of the kernel's limiter. Its methods may be called at the same time.
type Kernel interface {
	// SetFleet makes the rules of origin fleet these, all of them or none. At a prefix where a rule of another origin is, it
	// stays in force. It is quick where little changes.
	SetFleet(rules []Rule) error
	// Protected returns why a prefix must not be dropped here, as handdown.Kernel does. Allow rules of the fleet itself
	// protect too.
	Protected(prefix netip.Prefix) (reason string, err error)
}

// Errors of Set.
var (
	// ErrTooMany is of more rules in a minute than one machine may publish.
	ErrTooMany = errors.New("too many rules in a minute")
	// ErrFull is of more rules than the fleet may have.
	ErrFull = errors.New("the fleet has as many rules as it may")
)

// Conn is what is needed of package redisconn.
type Conn interface {
	DoPatiently(ctx context.Context, call redisconn.Call, timeout time.Duration) (string, error)
	Subscribe(ctx context.Context, channel string, f func(redisconn.Message))
	State() redisconn.State
}

// Options are what a Fleet needs. Conn, Redis and Version must be set.
type Options struct {
	Conn    Conn
	Redis   config.Redis // its prefix, and the name of this member
	Config  config.Fleet
	Version string
	Kernel  Kernel // nil for none: then rules are only published
	// Spare returns why a prefix must not be blocked here, beside what Kernel says: trusted proxies, addresses of this machine.
	// nil for never.
	Spare func(netip.Prefix) (reason string)
	Log   *slog.Logger // nil for slog.Default
	// Publish gets an event for each line of the log. It must not wait. nil for nobody.
	Publish func(event.Event)
	// Resized is called when the number of members has changed. It must not wait. nil for nobody.
	Resized func(members int)
}

// Fleet is this machine as a member. All methods may be called at the same time, but for Run, which is called once.
type Fleet struct{}

// New returns a member that nobody knows yet.
func New(o Options) *Fleet { return &Fleet{} }

// Run takes part until ctx ends, and says good-bye then. Rules in the kernel stay.
func (f *Fleet) Run(ctx context.Context) {}

// Members is how many members there were when the fleet was last seen, at least 1: this one.
func (f *Fleet) Members() int { return 1 }

// Share publishes rules that this machine's hand-down has made. It does not wait; what is more than may be published is
// dropped, counted and logged.
func (f *Fleet) Share(rules []Rule) {}

// Set publishes rules that somebody wants, all or none of them. It returns when they are in force here and published.
func (f *Fleet) Set(ctx context.Context, rules []Rule) error { return nil }

// Unset takes rules back, whoever made them, and returns the prefixes that had one.
func (f *Fleet) Unset(ctx context.Context, prefixes []netip.Prefix) ([]netip.Prefix, error) {
	return nil, nil
}

// Status tells what is known of the fleet. Where Redis does not answer it is what was last seen, and says so.
func (f *Fleet) Status(ctx context.Context) Status { return Status{} }

// Status is what is known of the fleet.
type Status struct {
	Self    string // the name of this member
	Members []Member
	// Seen is when the fleet was last seen. Error says why not since; empty while it is.
	Seen  time.Time
	Error string
	Store redisconn.State
	Rules int // of the fleet, in force
	// Spared is how many of them are not in force here, as something protects the prefix.
	Spared int
	// Published, Withheld and Received count rules since New: published by this machine, not published as they were too
	// many, and got from others.
	Published, Withheld, Received uint64
}

// Member is a machine of the fleet.
type Member struct {
	Name    string
	Version string
	Started time.Time
	Seen    time.Duration // ago, by Redis' clock
	// Store is the health of Redis as the member sees it, and RoundTrip how far it is away.
	Store     redisconn.Health
	RoundTrip time.Duration
	// Behind is how many changes of the rules the member has not got yet.
	Behind uint64
	// Delay is how late the last change came to it.
	Delay time.Duration
}
