package metrics

import (
	"log/slog"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Sources are what is read at each scrape. What is nil, or returns nil, has no series: a reload may bring a section
// or take it away. All are called by several goroutines at the same time.
type Sources struct {
	Build Build
	// HTTP is what the limiter of requests counted.
	HTTP func() ruleset.Counters
	// Kernel is what the kernel's limiter counted. Where it fails there are no series of it in this scrape.
	Kernel    func() (*Kernel, error)
	HandDown  func() *HandDown
	Verify    func() *Verify
	Store     func() *Store
	Fleet     func() *Fleet
	Adaptive  func() *adaptive.State
	Servers   func() []Server
	Listeners func() []Listener
	Config    func() Config
	// LostEvents is how many events listeners were too slow for.
	LostEvents func() uint64
	// Log is told when Kernel begins to fail, and when that has ended. nil for slog.Default.
	Log *slog.Logger
}

// Build is what is running.
type Build struct{ Version, Revision string }

// HandDown is what became of offenders.
type HandDown struct {
	// Offences are by origin, HandedDown by action, Spared by reason. They should have every label that
	// there is, also where nothing was counted, so that rates are right from the start.
	Offences, HandedDown, Spared []Count
	// Rules is how many kernel rules of offenders are in force, of at most MaxRules.
	Rules, MaxRules int
	Late            uint64 // offences of sources that have a rule already
	Doubtful        uint64 // refusals in logs of nginx that a client may have written
	Logs            []Log  // of nginx, as configured
	Lost            uint64 // offences that there was no room for
	Evicted         uint64 // offenders forgotten for want of room
}

// Verify is what became of sources of which a request was allowed. A source counts each time that the kernel is to be
// told of it.
type Verify struct{ Told, Lost, Failed uint64 }

// Log is a log of nginx that offences are read from.
type Log struct {
	Path     string
	Readable bool
}

// Count is how many there were of one kind.
type Count struct {
	Label string
	N     uint64
}

// Server is one of the upstream.
type Server struct {
	Name     string // as configured, without credentials
	Healthy  bool
	InFlight int
	Requests uint64
	Failures uint64 // no answer, or a 5xx
}

// Listener is what is listened on.
type Listener struct {
	Name     string // as configured
	Open     int    // connections
	Accepted uint64
}

// Config is how reading the configuration went.
type Config struct {
	Successes, Failures uint64
	// Failed reports that the file as it is now was refused, and an older one is in force.
	Failed bool
	// Since is when what is in force was read, and SHA256 the sum of that file, in hexadecimal.
	Since  time.Time
	SHA256 string
}
