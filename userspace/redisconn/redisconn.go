// Package redisconn runs scripts on Redis servers for callers who cannot wait: concurrent calls share round trips, none
// waits longer than the time-out, and servers that do not answer are left alone until they do.
package redisconn

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// Errors of calls. What a server answers is another error, with its words.
var (
	ErrTimeout = errors.New("redis did not answer in time")
	ErrOpen    = errors.New("redis is left alone, as it did not answer")
	ErrBusy    = errors.New("too many calls to redis are under way")
)

// Options are what a Conn needs. Config must be set.
type Options struct {
	Config config.Redis
	Log    *slog.Logger // told of changes of state; nil for slog.Default
	// Changed is called at each change of State.Health. It must not wait. nil for nobody.
	Changed func(State)
}

// Script is a Lua script that returns one string.
type Script struct{ source, sha string }

// Call is a run of a script.
type Call struct {
	Script *Script
	Keys   []string // at least one; all in one slot of a cluster
	Args   []string
}

// Conn is connections to the servers. All methods may be called at the same time.
type Conn struct{}

// Open returns a Conn that connects as it is used: that no server answers is no error. A password or certificate that
// cannot be read is.
func Open(o Options) (*Conn, error) { return nil, errors.ErrUnsupported }

// NewScript returns a script.
func NewScript(source string) *Script { return &Script{} }

// Do runs a call in at most Config.Timeout. An error is ErrTimeout, ErrOpen, ErrBusy or tells what the server said; the script
// may have run.
func (c *Conn) Do(call Call) (string, error) { return "", ErrOpen }

// Start is Do that does not wait: done, which must not wait either, is called later, or at once with ErrOpen or ErrBusy.
func (c *Conn) Start(call Call, done func(reply string, err error)) { done("", ErrOpen) }

// DoPatiently is Do with a time-out of its own, for what no request waits for. It tries a server that is left alone, too.
func (c *Conn) DoPatiently(ctx context.Context, call Call, timeout time.Duration) (string, error) {
	return "", ErrOpen
}

// Message is what Subscribe tells.
type Message struct {
	// Joined says that from now on all messages are seen, so that what was said before has to be looked up: after the start, and
	// whenever a connection was lost.
	Joined bool
	Text   string
}

// Subscribe calls f for each message of a channel, one after the other, until ctx ends. It connects again by itself.
func (c *Conn) Subscribe(ctx context.Context, channel string, f func(Message)) {}

// State tells how the servers are.
func (c *Conn) State() State { return State{} }

// Close ends all connections, and calls under way with an error.
func (c *Conn) Close() error { return nil }

// Health is whether requests ask the servers.
type Health string

// The values of Health.
const (
	Up      Health = "up"
	Partly  Health = "partly" // some slots of a cluster are down
	Probing Health = "probing"
	Down    Health = "down"
)

// State is how the servers are, and what was counted since Open.
type State struct {
	Health Health
	Since  time.Time // of Health
	// Error is the last that was seen; empty while all is well.
	Error string
	// RoundTrip is the mean of the last calls.
	RoundTrip time.Duration
	InFlight  int // calls

	Calls      uint64 // begun
	RoundTrips uint64 // of calls together
	// Calls that failed: in time, by an answer, for too many, or without being asked.
	Timeouts, Errors, Busy, LeftAlone uint64
	// Opened is how often servers were left alone, and Probes how often it was tried whether they answer again.
	Opened, Probes uint64
}
