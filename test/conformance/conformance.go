package conformance

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Front is a way on which requests reach the rules.
type Front interface {
	// Name is what the front is called in the names of tests.
	Name() string
	// Do makes the request of a step and returns its answer. What the front does not forward to a client is left out.
	Do(t *testing.T, s Step) Answer
}

// Partial is a Front that lacks words for some answers.
type Partial interface {
	Front
	// Expect returns what becomes of an answer that is right. An empty body is not looked at.
	Expect(s Step, a Answer) Answer
}

// Rules are what a front decides by.
type Rules struct {
	*ruleset.Set
	// HTTP is what they were made of.
	HTTP config.HTTP
	// Options are those of all fronts. Their clock is the scenario's.
	Options httplimit.Options
}

// Open makes a front that decides by r. What it opens, it closes at the end of the test.
type Open func(t *testing.T, r Rules) Front

// Step is a request, and the answer that is right.
type Step struct {
	// After is by how much the clock is moved before.
	After time.Duration
	// Peer is who the TCP connection is from; invalid for a unix socket.
	Peer netip.Addr
	// Method is GET if empty, Host is example.com, and Target, of the request line, is /.
	Method, Host, Target string
	// Header are the client's fields, without Host.
	Header http.Header
	// Body is that of the request.
	Body string
	// Times is how often the request is made with this answer; 0 is once.
	Times int
	// Want is the answer. Its body is not looked at: all fronts have to have the same.
	Want Answer
}

// Answer is what a client gets.
type Answer struct {
	// Status is 200 for a request that passes.
	Status int
	// Header has the fields that Told names, and no others.
	Header http.Header
	Body   string
}

// Told returns those fields of h that tell about limits or belong to a refusal.
func Told(h http.Header) http.Header {
	told := http.Header{}
	for name, values := range h {
		switch name = http.CanonicalHeaderKey(name); {
		case strings.Contains(name, "Ratelimit"), strings.HasPrefix(name, "X-Rate-Limit"),
			name == "Retry-After", name == "Cache-Control", name == "Content-Type", name == "X-Content-Type-Options":
			told[name] = values
		}
	}
	return told
}

// Run runs all scenarios on the middleware and then on fronts, whose bodies must be those of the middleware.
func Run(t *testing.T, fronts ...Open) {
	t.Helper()
	fronts = append([]Open{openMiddleware}, fronts...)
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			var bodies []string
			for i, open := range fronts {
				got := s.run(t, open, bodies)
				if i == 0 {
					bodies = got
				}
			}
		})
	}
}

// run runs the scenario on a front and returns the bodies; those that are right are bodies, if there are any.
func (s Scenario) run(t *testing.T, open Open, bodies []string) (got []string) {
	r, c := s.rules(t)
	f := open(t, r)
	t.Run(f.Name(), func(t *testing.T) {
		for i, step := range s.Steps {
			step = step.complete()
			c.now += step.After
			for range max(1, step.Times) {
				want := step.Want
				if bodies != nil {
					want.Body = bodies[len(got)]
				}
				answer := f.Do(t, step)
				got = append(got, answer.Body)
				compare(t, i, f, step, want, answer)
			}
		}
	})
	return got
}

func compare(t *testing.T, i int, f Front, s Step, want, got Answer) {
	t.Helper()
	if p, ok := f.(Partial); ok {
		want = p.Expect(s, want)
	}
	if want.Body == "" || s.Method == http.MethodHead {
		want.Body, got.Body = "", ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("step %d, %s %s of %v (-want +got):\n%s", i+1, s.Method, s.Target, s.Peer, diff)
	}
}

func (s Step) complete() Step {
	if s.Method == "" {
		s.Method = http.MethodGet
	}
	if s.Host == "" {
		s.Host = "example.com"
	}
	if s.Target == "" {
		s.Target = "/"
	}
	return s
}

// clock only moves when it is told to.
type clock struct{ now time.Duration }

// rules returns new rules, and the clock of their options. It begins above the first minute, in which nginx's own
// limits are different.
func (s Scenario) rules(t *testing.T) (Rules, *clock) {
	t.Helper()
	f, err := config.Parse(s.Name, []byte("http:\n"+s.HTTP))
	if err != nil {
		t.Fatal(err)
	}
	set, err := ruleset.New(f.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{now: time.Hour}
	o := httplimit.Options{Headers: f.HTTP.Headers, Clock: func() time.Duration { return c.now }}
	return Rules{set, f.HTTP, o}, c
}
