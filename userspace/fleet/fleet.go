package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
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
	// stays in force. It is quick where little changes. Ends may differ by milliseconds from call to call.
	SetFleet(rules []Rule) error
	// Lift removes what this machine has handed down at these very prefixes, if there is something.
	Lift(prefixes []netip.Prefix) error
	// Protected returns why a prefix must not be dropped here, as handdown.Kernel does. Allow rules of the fleet itself
	// protect too.
	Protected(prefix netip.Prefix) (reason string, err error)
}

// Errors of Set and Unset.
var (
	// ErrWrong is of rules that no fleet may have.
	ErrWrong = errors.New("not a rule for a fleet")
	// ErrNotHere is of what was published, or taken back, and is not known to be so on this machine.
	ErrNotHere = errors.New("it is not known to be so on this machine")
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
	// Kept returns the rules of origin fleet that the kernel has from the time before this process. They are kept until
	// their end, or until the fleet says something else of their prefix. nil for none.
	Kept func() ([]Rule, error)
	// Members is how many members there are taken to be until they are seen; 0 for this one alone.
	Members int
	// Spare returns why a prefix must not be blocked here, beside what Kernel says: trusted proxies, addresses of this machine.
	// nil for never.
	Spare func(netip.Prefix) (reason string)
	Log   *slog.Logger // nil for slog.Default
	// Publish gets an event for each line of the log that is about rules or members. It must not wait. nil for nobody.
	Publish func(event.Event)
	// Resized is called when the number of members has changed. It must not wait. nil for nobody.
	Resized func(members int)
}

// Fleet is this machine as a member. All methods may be called at the same time, but for Run, which is called once.
type Fleet struct {
	o       Options
	id      string // of this run of this member
	began   time.Time
	scripts scripts
	keys    keys
	clock   clock
	counts  counts
	quota   *window
	shared  queue
	roll    roll
	wake    wake
	joined  atomic.Bool // all messages are seen from then on, and what was said before has to be looked up
	silent  silent
	again   atomic.Bool // it is to be asked again what protects the prefixes

	following turn     // held while the rules are read and applied
	follower  follower // guarded by following
	standing  atomic.Pointer[standing]
	shown     atomic.Pointer[[]known]
}

// counts are of rules since New.
type counts struct{ published, withheld, received atomic.Uint64 }

// New returns a member that nobody knows yet.
func New(o Options) *Fleet {
	o.fill()
	f := &Fleet{
		o: o, id: rand.Text(), began: time.Now(), scripts: newScripts(), keys: newKeys(o.Redis.Prefix, o.Redis.Name),
		quota: newWindow(o.Config.MaxPublished), shared: newQueue(o.Config.MaxPublished), wake: make(wake, 1),
		following: newTurn(),
	}
	// What the member before this one has seen is given up only after a while: those who share another Redis from now on come there
	// one by one.
	f.roll.census = census{n: max(o.Members, 1), counted: o.Members > 1}
	f.standing.Store(&standing{})
	f.shown.Store(&[]known{})
	f.follower = follower{Fleet: f, view: newView(o.Redis.Name), whole: true}
	return f
}

// fill sets what is not set.
func (o *Options) fill() {
	if o.Kept == nil {
		o.Kept = func() ([]Rule, error) { return nil, nil }
	}
	if o.Spare == nil {
		o.Spare = func(netip.Prefix) string { return "" }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Publish == nil {
		o.Publish = func(event.Event) {}
	}
	if o.Resized == nil {
		o.Resized = func(int) {}
	}
}

// Run takes part until ctx ends, and says good-bye then. Rules in the kernel stay.
func (f *Fleet) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { f.beatUntil(ctx) })
	parts.Go(func() { f.followUntil(ctx) })
	parts.Go(func() { f.publishUntil(ctx) })
	parts.Go(func() { f.o.Conn.Subscribe(ctx, f.keys.channel, f.hear) })
	parts.Wait()
	f.leave(context.WithoutCancel(ctx))
}

// AskAgain has the follower ask again what protects the prefixes of rules, as that may be something else now. It does not wait.
func (f *Fleet) AskAgain() {
	f.again.Store(true)
	f.wake.up()
}

// follows reports whether rules of the fleet come into force here.
func (f *Fleet) follows() bool { return f.o.Config.Follow && f.o.Kernel != nil }
