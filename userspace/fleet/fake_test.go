package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

// fakeRedis does what the scripts do, by the clock of the test. TestFake compares it with them.
type fakeRedis struct {
	offset time.Duration // of its clock

	mu        sync.Mutex
	epoch     string
	version   int64
	slots     map[string]*fakeSlot
	members   map[string]fakeMember
	published map[string]map[int64]int
	listeners map[int]func(redisconn.Message)
	listened  int
}

type fakeSlot struct {
	kind     string
	at, stop int64 // stop is 0 for no end
	body     string
	version  int64
}

type fakeMember struct {
	seen int64
	says string
}

func newFakeRedis() *fakeRedis {
	r := &fakeRedis{listeners: map[int]func(redisconn.Message){}}
	r.lose()
	return r
}

// lose loses all data, as a server does that begins again.
func (r *fakeRedis) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch, r.version = "", 0
	r.slots, r.members, r.published = map[string]*fakeSlot{}, map[string]fakeMember{}, map[string]map[int64]int{}
}

func (r *fakeRedis) now() int64 { return time.Now().Add(r.offset).UnixMilli() }

// begin is begin.lua.
func (r *fakeRedis) begin(candidate string) {
	if r.epoch == "" {
		r.epoch = candidate
	}
	now := r.now()
	maps.DeleteFunc(r.slots, func(_ string, s *fakeSlot) bool { return s.stop != 0 && s.stop <= now })
}

func (r *fakeRedis) head(more ...string) string {
	fields := append([]string{strconv.FormatInt(r.now(), 10), r.epoch, strconv.FormatInt(r.version, 10)}, more...)
	out := ""
	for _, f := range fields {
		out += fmt.Sprintf("%d:%s", len(f), f)
	}
	return out
}

// look is look.lua.
func (r *fakeRedis) look(args []string) string {
	from := integer(args[2])
	if args[1] != r.epoch || from > r.version {
		from = 0
	}
	type found struct {
		slot string
		*fakeSlot
	}
	var all []found
	for slot, s := range r.slots {
		if s.version > from {
			all = append(all, found{slot, s})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return int(a.version - b.version) })
	out := []string{strconv.FormatInt(from, 10)}
	for _, s := range all[:min(len(all), int(integer(args[3])))] {
		out = append(out, strconv.FormatInt(s.version, 10), s.slot, fmt.Sprintf("%s %d %d %s", s.kind, s.at, s.stop, s.body))
	}
	return r.head(out...)
}

// beat is beat.lua.
func (r *fakeRedis) beat(args []string) string {
	now, found := r.now(), len(r.members)
	switch args[1] {
	case "beat":
		r.members[args[2]] = fakeMember{now, args[3]}
	case "leave":
		delete(r.members, args[2])
	}
	most := integer(args[4])
	maps.DeleteFunc(r.members, func(_ string, m fakeMember) bool { return now-m.seen >= most })
	out := []string{strconv.Itoa(found)}
	for id, m := range r.members {
		out = append(out, id, strconv.FormatInt(m.seen, 10), m.says)
	}
	return r.head(out...)
}

// publish is publish.lua.
func (r *fakeRedis) publish(quota string, args []string) string {
	mode, mostAMinute, mostRules := args[1], int(integer(args[3])), int(integer(args[4]))
	counts := mode == "set" || mode == "share"
	second, used := r.now()/1000, 0
	seconds := r.published[quota]
	if seconds == nil {
		seconds = map[int64]int{}
		r.published[quota] = seconds
	}
	maps.DeleteFunc(seconds, func(at int64, _ int) bool { return at < second-60 })
	for _, n := range seconds {
		used += n
	}
	room := mostRules - r.count("r")
	letters, todo := "", map[string]*fakeSlot{}
	var order []string
	for rest := args[5:]; len(rest) > 0; rest = rest[6:] {
		slot, s, is := r.decide(mode, rest)
		isNew := s.kind == "r" && (r.slots[slot] == nil || r.slots[slot].kind != "r")
		switch {
		case !is:
			letters += "-"
		case counts && len(order) >= max(0, mostAMinute-used):
			letters += "q"
		case mode != "unset" && isNew && room <= 0:
			letters += "f"
		default:
			letters, order, todo[slot] = letters+"w", append(order, slot), s
			if isNew {
				room--
			}
		}
	}
	fit := len(order)
	wait := r.wait(letters, mostAMinute-used, mostAMinute, seconds)
	if mode == "set" && strings.ContainsAny(letters, "qf") {
		order = nil
	}
	for _, slot := range order {
		r.version++
		todo[slot].version = r.version
		r.slots[slot] = todo[slot]
	}
	if counts && len(order) > 0 {
		seconds[second] += len(order)
	}
	if len(order) > 0 {
		for _, f := range r.listeners {
			f(redisconn.Message{Text: fmt.Sprint(r.epoch, " ", r.version)})
		}
	}
	return r.head(letters, strconv.Itoa(fit), strconv.FormatInt(wait, 10))
}

func (r *fakeRedis) count(kind string) (n int) {
	for _, s := range r.slots {
		if s.kind == kind {
			n++
		}
	}
	return n
}

func (r *fakeRedis) wait(letters string, free, most int, seconds map[int64]int) (wait int64) {
	if !strings.Contains(letters, "q") {
		return 0
	}
	if len(letters) > most {
		return -1
	}
	for _, at := range slices.Sorted(maps.Keys(seconds)) {
		if free < len(letters) {
			free += seconds[at]
			wait = (at+61)*1000 - r.now()
		}
	}
	return wait
}

// decide is decide of publish.lua. Ends are compared as times, no end as the latest.
func (r *fakeRedis) decide(mode string, a []string) (slot string, s *fakeSlot, is bool) {
	const never = 1 << 52
	now, left := r.now(), integer(a[3])
	s = &fakeSlot{kind: a[1], at: integer(a[2]), stop: now + left, body: a[5]}
	switch {
	case left < 0:
		s.stop = 0
	case left == 0:
		s.stop = never
	}
	old := r.slots[a[0]]
	if old == nil {
		old = &fakeSlot{}
	}
	oldStop := old.stop
	if oldStop == 0 && old.kind != "" {
		oldStop = never
	}
	live := old.kind == "r"
	switch {
	case mode == "again":
		is = old.at < s.at
	case s.kind == "t":
		if live {
			s.stop = max(s.stop, oldStop)
		}
		s.stop = min(s.stop, now+30*24*3600*1000)
		is = old.kind != "t" && s.stop > now
	default:
		is = a[4] != "h" || !live || oldStop < s.stop
	}
	if mode != "again" {
		s.at = max(now, s.at+1, old.at+1)
	}
	if s.stop == never {
		s.stop = 0
	}
	return a[0], s, is
}

func integer(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// fakeConn is a member's connection to a fakeRedis.
type fakeConn struct {
	*fakeRedis
	scripts scripts
	mu      sync.Mutex
	down    error
	calls   map[*redisconn.Script]int
}

func (r *fakeRedis) connect() *fakeConn {
	return &fakeConn{fakeRedis: r, calls: map[*redisconn.Script]int{}}
}

func (c *fakeConn) know(s scripts) { c.scripts = s }

// fail makes all calls fail with an error; nil for none.
func (c *fakeConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = err
}

func (c *fakeConn) fails() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

func (c *fakeConn) called(s *redisconn.Script) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[s]
}

func (c *fakeConn) DoPatiently(_ context.Context, call redisconn.Call, _ time.Duration) (string, error) {
	c.mu.Lock()
	c.calls[call.Script]++
	c.mu.Unlock()
	if err := c.fails(); err != nil {
		return "", err
	}
	c.fakeRedis.mu.Lock()
	defer c.fakeRedis.mu.Unlock()
	c.begin(call.Args[0])
	switch call.Script {
	case c.scripts.look:
		return c.look(call.Args), nil
	case c.scripts.beat:
		return c.beat(call.Args), nil
	default:
		return c.publish(call.Keys[4], call.Args), nil
	}
}

func (c *fakeConn) Subscribe(ctx context.Context, _ string, f func(redisconn.Message)) {
	f(redisconn.Message{Joined: true})
	c.fakeRedis.mu.Lock()
	id := c.listened
	c.listened++
	c.listeners[id] = func(m redisconn.Message) {
		if c.fails() == nil {
			f(m)
		}
	}
	c.fakeRedis.mu.Unlock()
	<-ctx.Done()
	c.fakeRedis.mu.Lock()
	delete(c.listeners, id)
	c.fakeRedis.mu.Unlock()
}

func (c *fakeConn) State() redisconn.State {
	return redisconn.State{Health: redisconn.Up, RoundTrip: 3 * time.Millisecond}
}

// calm lets the time pass that members leave between looks.
func calm() {
	time.Sleep(2 * rest)
	synctest.Wait()
}

// bubble runs f with a fakeRedis in a bubble whose time goes on only when the test lets it.
func bubble(t *testing.T, f func(t *testing.T, r *fakeRedis)) {
	synctest.Test(t, func(t *testing.T) { f(t, newFakeRedis()) })
}
