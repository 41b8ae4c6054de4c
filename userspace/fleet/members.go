package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

const (
	// beatEvery is how often a member says that it is there, give or take a tenth, so that they do not all say it at once.
	beatEvery = 2 * time.Second
	// goneAfter is how long a member that says nothing is one.
	goneAfter = 10 * time.Second
	// mostMembers bounds how many are read and counted: somebody else may have written any number.
	mostMembers = 1000
)

// says is what a member tells of itself, as JSON. It has times in it, and no date.
type says struct {
	Name      string           `json:"name"`
	Version   string           `json:"version"`
	Age       int64            `json:"age_ms"`
	Store     redisconn.Health `json:"store"`
	RoundTrip int64            `json:"round_trip_us"`
	Epoch     string           `json:"epoch"`   // of the rules that it has in force
	Applied   uint64           `json:"applied"` // their version
	Delay     int64            `json:"delay_ms"`
}

// roll is who there is, as last seen.
type roll struct {
	mu      sync.Mutex
	members []member
	found   int64 // how many Redis had, of whatever kind
	head    head
	seen    time.Time
	err     error
	census  census
}

// member is a member as another sees it.
type member struct {
	id string
	says
	beat time.Time
}

// census is how many members there are, by what is seen.
type census struct {
	n       int       // what is taken to be so
	counted bool      // n was seen once
	since   time.Time // when it was first seen that it is another number; zero if it is not
}

// count notes how many were seen, and reports whether n is another one now.
func (c *census) count(seen int, now time.Time) (changed bool) {
	switch {
	case seen == c.n:
		c.counted, c.since = true, time.Time{}
		return false
	case !c.counted:
	case c.since.IsZero():
		c.since = now
		return false
	case now.Sub(c.since) < goneAfter:
		return false
	}
	c.n, c.counted, c.since = seen, true, time.Time{}
	return true
}

// Members is how many members there were when the fleet was last seen, by Options if it never was; at least 1: this one.
func (f *Fleet) Members() int {
	f.roll.mu.Lock()
	defer f.roll.mu.Unlock()
	return f.roll.census.n
}

// beatUntil says that this member is there until ctx ends.
func (f *Fleet) beatUntil(ctx context.Context) {
	var sight, crowd, twin trouble
	for {
		err := f.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		f.tellSight(&sight, err)
		f.tellCrowd(&crowd)
		f.tellTwin(&twin)
		select {
		case <-ctx.Done():
			return
		case <-time.After(beatEvery - beatEvery/10 + rand.N(beatEvery/5)):
		}
	}
}

// beat says that this member is there, and learns who else is.
func (f *Fleet) beat(ctx context.Context) error {
	h, found, members, err := f.call(ctx, "beat")
	f.roll.mu.Lock()
	before := f.roll.census.n
	if err == nil {
		f.roll.found = found
	}
	changed := f.roll.note(h, members, err) && f.roll.census.count(max(len(members), 1), time.Now())
	n := f.roll.census.n
	f.roll.mu.Unlock()
	if err != nil {
		return err
	}
	if changed {
		f.tellResized(before, n)
	}
	if s := f.standing.Load(); s.epoch != h.epoch || s.version != h.version {
		f.wake.up()
	}
	return nil
}

// note notes what was seen, or why nothing was. It reports whether something was.
func (r *roll) note(h head, members []member, err error) bool {
	r.err = err
	if err != nil {
		r.census.since = time.Time{} // who was not seen may have come back
		return false
	}
	r.head, r.members, r.seen = h, members, time.Now()
	return true
}

// hasTwin reports whether another member has the name of this one. One that this process has taken the place of is forgotten by then.
func (f *Fleet) hasTwin() bool {
	f.roll.mu.Lock()
	defer f.roll.mu.Unlock()
	return time.Since(f.began) > 2*goneAfter && slices.ContainsFunc(f.roll.members, func(m member) bool {
		return m.id != f.id && m.Name == f.o.Redis.Name
	})
}

// call runs the script of members.
func (f *Fleet) call(ctx context.Context, mode string) (h head, found int64, members []member, err error) {
	text, err := json.Marshal(f.says())
	if err != nil {
		return head{}, 0, nil, err
	}
	h, fields, err := f.run(ctx, f.scripts.beat, f.keys.with(f.keys.members), mode, f.id, string(text),
		strconv.FormatInt(goneAfter.Milliseconds(), 10), strconv.Itoa(mostMembers))
	if err != nil {
		return head{}, 0, nil, err
	}
	found, members, err = f.readMembers(fields)
	return h, found, members, err
}

// leave says good-bye, if there is somebody to hear it.
func (f *Fleet) leave(ctx context.Context) {
	f.roll.mu.Lock()
	seen := f.roll.err == nil
	f.roll.mu.Unlock()
	if !seen {
		return
	}
	if _, _, _, err := f.call(ctx, "leave"); err != nil {
		f.o.Log.Info("the fleet was left without good-bye", "error", err)
	}
}

// says returns what this member says of itself.
func (f *Fleet) says() says {
	state, standing := f.o.Conn.State(), f.standing.Load()
	return says{
		Name: f.o.Redis.Name, Version: f.o.Version, Age: time.Since(f.began).Milliseconds(),
		Store: state.Health, RoundTrip: state.RoundTrip.Microseconds(),
		Epoch: standing.epoch, Applied: standing.version, Delay: standing.delay.Milliseconds(),
	}
}

// readMembers reads what the script of members says. A member whose words are not those of one is one all the same: it
// has said them just now.
func (f *Fleet) readMembers(fields []string) (found int64, members []member, err error) {
	if len(fields)%3 != 1 {
		return 0, nil, fmt.Errorf("%w: %d fields", errNonsense, len(fields))
	}
	if found, err = number(fields[0]); err != nil {
		return 0, nil, err
	}
	fields = fields[1:]
	for len(fields) > 0 {
		at, err := number(fields[1])
		if err != nil {
			return 0, nil, err
		}
		members = append(members, member{id: fields[0], says: readSays(fields[2]), beat: f.clock.when(at)})
		fields = fields[3:]
	}
	return found, members, nil
}

// mostSays bounds, in bytes, what a member says.
const mostSays = 2048

// readSays reads what a member says of itself; of a later version that may be more than is known here.
func readSays(text string) (s says) {
	if len(text) > mostSays || json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&s) != nil {
		return says{Name: "?"}
	}
	return s
}
