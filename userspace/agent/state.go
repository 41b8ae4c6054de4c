package agent

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/handdown"
	"github.com/headgate/headgate/userspace/tracing"
	"github.com/headgate/headgate/userspace/verify"
	"github.com/headgate/headgate/userspace/watch"
)

// state is what the configuration in force consists of. It is written with Agent.changing and
// Agent.mu held, and read with one of them.
type state struct {
	ctx  context.Context // ends what runs in the background
	file *config.File
	sum  watch.Sum
	// tried is the sum of the files that were read last, in force or not.
	tried watch.Sum
	read  reading

	rules     rules
	decider   decider
	kernel    Kernel // nil until a file has a kernel section
	hand      *handdown.HandDown
	verifier  *verify.Verifier // nil where nobody is verified
	nginxLogs []nginxLog
	adaptive  *adaptive.Controller
	tracer    *tracing.Provider
	sharing   *sharing // nil without a redis section
	member    membership
	unfleeted atomic.Bool // the kernel was told to have no rules of a fleet

	proxy    *gateway.Proxy
	handlers map[role]*handler
	sockets  sockets
	fronts   []*front

	// loops are what runs in the background for one section, and is begun anew when that changes.
	tuning    loop
	following loop
	handing   loop
	verifying loop
	checking  loop
	logs      loop // nginx's
	belonging loop // to the fleet

	adaptedAt time.Time
	unscaled  bool // the factor is not in force everywhere; guarded by Agent.changing
}

// reading is how reading the configuration went.
type reading struct {
	successes, failures uint64
	since               time.Time // when what is in force was read
	sha256              string    // of that file
	err                 error     // of the last time
	failedAt            time.Time
}

// drain is how long requests under way may take when the agent ends.
func (s *state) drain() time.Duration {
	if s.file == nil {
		return 0
	}
	return s.file.Timeouts.Drain
}

// loop is something that runs in the background until it is stopped.
type loop struct{ stop context.CancelFunc }

// begin stops what ran, and has run call f in the background. It does not wait for what ran, which may wait for
// Agent.mu: who changes something there looks at ctx once it has that.
func (l *loop) begin(ctx context.Context, run func(func()), f func(context.Context)) {
	l.end()
	ctx, l.stop = context.WithCancel(ctx)
	run(func() { f(ctx) })
}

// end stops what runs.
func (l *loop) end() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}
