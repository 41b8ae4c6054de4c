package verify

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// fakeKernel notes what it is told.
type fakeKernel struct {
	mu      sync.Mutex
	err     error
	calls   int
	told    []netip.Addr
	periods []time.Duration // of each call
}

func (k *fakeKernel) Verify(addrs []netip.Addr, period time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if k.err != nil {
		return k.err
	}
	k.told = append(k.told, addrs...)
	k.periods = append(k.periods, period)
	return nil
}

// take returns how often each address was told of since the last time.
func (k *fakeKernel) take() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]int{}
	for _, addr := range k.told {
		all[addr.String()]++
	}
	k.told = nil
	return all
}

// lab is a Verifier that runs, in a bubble whose time goes on only when the test lets it.
type lab struct {
	*testing.T
	*Verifier
	kernel *fakeKernel
	log    bytes.Buffer // read it only when all is quiet
	began  time.Time
}

func run(t *testing.T, f func(l *lab)) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{T: t, kernel: &fakeKernel{}, began: time.Now().Add(-time.Hour)}
		own := netip.MustParseAddr("198.51.100.9")
		l.Verifier = New(Options{
			Kernel: l.kernel, For: 10 * time.Minute, Log: slog.New(slog.NewTextHandler(&l.log, nil)),
			Local: func(addr netip.Addr) bool { return addr == own },
		})
		go l.Verifier.Run(t.Context())
		f(l)
	})
}

// requests are n that were allowed, of a client that is the peer.
func (l *lab) requests(client string, n int) {
	addr := netip.MustParseAddr(client)
	for range n {
		l.Observe(&ruleset.Request{Peer: addr}, &ruleset.Decision{Client: addr, ClientFrom: clientip.FromPeer, Allowed: true}, time.Since(l.began))
	}
}

// wantTold waits until all is quiet, and compares what the kernel was told since the last time.
func (l *lab) wantTold(want map[string]int) {
	l.Helper()
	time.Sleep(pause)
	synctest.Wait()
	if diff := cmp.Diff(want, l.kernel.take()); diff != "" {
		l.Errorf("told (-want +got):\n%s", diff)
	}
}

// The kernel is told of a client once, and again after a quarter of the time that it is verified for: then before that is over.
func TestToldOnce(t *testing.T) {
	run(t, func(l *lab) {
		l.requests("203.0.113.1", 1000)
		l.requests("::ffff:203.0.113.1", 1000)
		l.requests("2001:db8::1", 1)
		l.wantTold(map[string]int{"203.0.113.1": 1, "2001:db8::1": 1})
		time.Sleep(150*time.Second - 2*pause)
		l.requests("203.0.113.1", 1000)
		l.wantTold(map[string]int{})
		time.Sleep(pause)
		l.requests("203.0.113.1", 1000)
		l.wantTold(map[string]int{"203.0.113.1": 1})
		for _, period := range l.kernel.periods {
			if want := 10*time.Minute + 150*time.Second; period != want {
				t.Errorf("verified for %v, want %v", period, want)
			}
		}
		if got, want := l.Counters(), (Counters{Told: 3}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

func TestSetFor(t *testing.T) {
	run(t, func(l *lab) {
		l.SetFor(time.Minute)
		l.requests("203.0.113.1", 1)
		l.wantTold(map[string]int{"203.0.113.1": 1})
		time.Sleep(15 * time.Second)
		l.requests("203.0.113.1", 1)
		l.wantTold(map[string]int{"203.0.113.1": 1})
		if want := []time.Duration{75 * time.Second, 75 * time.Second}; !slices.Equal(l.kernel.periods, want) {
			t.Errorf("verified for %v, want %v", l.kernel.periods, want)
		}
	})
}

// Only who sends the packets is verified, and only by a request that was allowed.
func TestWhoIsVerified(t *testing.T) {
	const client, proxy, local, own = "203.0.113.1", "192.0.2.9", "127.0.0.1", "198.51.100.9"
	tests := []struct {
		name       string
		peer, conn string
		from       clientip.Reason
		hop        int
		edit       func(*ruleset.Request, *ruleset.Decision)
		want       string
	}{
		{name: "peer", peer: client, from: clientip.FromPeer, want: client},
		{name: "refused", peer: client, from: clientip.FromPeer, edit: func(_ *ruleset.Request, d *ruleset.Decision) { d.Allowed = false }},
		{name: "untrusted header", peer: client, from: clientip.UntrustedPeer, want: client},
		{name: "header of a proxy elsewhere", peer: proxy, from: clientip.FromHeader, hop: 1, want: proxy},
		{name: "header of a proxy here", peer: local, from: clientip.FromHeader, hop: 1, want: client},
		{name: "header of a proxy at an own address", peer: own, from: clientip.FromHeader, hop: 1, want: client},
		{name: "header of a proxy at a unix socket", from: clientip.FromHeader, hop: 1, want: client},
		{name: "header of a proxy before the one here", peer: local, from: clientip.FromHeader, hop: 2},
		{name: "PROXY protocol from elsewhere", peer: client, conn: proxy, from: clientip.FromPeer, want: proxy},
		{name: "PROXY protocol from here", peer: client, conn: local, from: clientip.FromPeer, want: client},
		{name: "header behind PROXY protocol from elsewhere", peer: "192.0.2.8", conn: proxy, from: clientip.FromHeader, hop: 1, want: proxy},
		{name: "header behind PROXY protocol from here", peer: "192.0.2.8", conn: local, from: clientip.FromHeader, hop: 1, want: "192.0.2.8"},
		{name: "too few hops", peer: proxy, from: clientip.TooFewHops, want: proxy},
		{name: "hearsay", peer: client, from: clientip.FromPeer, edit: func(r *ruleset.Request, _ *ruleset.Decision) { r.Hearsay = true }},
		{name: "hearsay from elsewhere", peer: client, conn: proxy, from: clientip.FromPeer, edit: func(r *ruleset.Request, _ *ruleset.Decision) { r.Hearsay = true }, want: proxy},
		{name: "from this machine", peer: own, from: clientip.FromPeer, edit: func(r *ruleset.Request, d *ruleset.Decision) { d.Client = r.Peer }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(l *lab) {
				r := &ruleset.Request{Peer: optional(tt.peer), Conn: optional(tt.conn)}
				d := &ruleset.Decision{Client: netip.MustParseAddr(client), ClientFrom: tt.from, ClientHop: tt.hop, Allowed: true}
				if tt.edit != nil {
					tt.edit(r, d)
				}
				l.Observe(r, d, time.Hour)
				want := map[string]int{}
				if tt.want != "" {
					want[tt.want] = 1
				}
				l.wantTold(want)
			})
		})
	}
}

// optional returns an address, an invalid one for none.
func optional(text string) netip.Addr {
	addr, _ := netip.ParseAddr(text)
	return addr
}

// What comes while the kernel is told of others is told at once, and no more than there is room for waits.
func TestBatchesAndRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{T: t, kernel: &fakeKernel{}}
		l.Verifier = New(Options{Kernel: l.kernel, For: time.Hour})
		for i := range mostWaiting + 10 {
			l.requests(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String(), 1)
		}
		go l.Verifier.Run(t.Context())
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := l.Counters(), (Counters{Told: mostWaiting, Lost: 10}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if want := mostWaiting / mostTold; l.kernel.calls != want {
			t.Errorf("%d calls, want %d", l.kernel.calls, want)
		}
		l.kernel.take()
		l.requests(fmt.Sprintf("10.0.%d.%d", (mostWaiting+9)>>8, (mostWaiting+9)&0xff), 1) // was not told of
		l.wantTold(map[string]int{"10.0.16.9": 1})
	})
}

// What the kernel did not take is told with the next request.
func TestKernelFails(t *testing.T) {
	run(t, func(l *lab) {
		l.kernel.err = errors.New("no instance")
		for range 5 {
			l.requests("203.0.113.1", 1)
			l.wantTold(map[string]int{})
		}
		l.kernel.err = nil
		l.requests("203.0.113.1", 2)
		l.wantTold(map[string]int{"203.0.113.1": 1})
		if got, want := l.Counters(), (Counters{Told: 1, Failed: 5}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if n := strings.Count(l.log.String(), "no instance"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, &l.log)
		}
	})
}

// The table is bounded: where more clients than it has room for come again and again, some are told of too often, and none too seldom.
func TestLatelyIsBounded(t *testing.T) {
	l := newLately()
	const clients = 3 * lineCount * perLine
	addrs := make([]netip.Addr, clients)
	for i := range addrs {
		addrs[i] = netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	for round := range 2 {
		for _, addr := range addrs {
			l.note(addr, time.Hour, time.Hour+time.Minute)
		}
		noted := 0
		for i := range l.lines {
			for j := range l.lines[i] {
				if l.lines[i][j].Load() != 0 {
					noted++
				}
			}
		}
		if least := lineCount * perLine * 9 / 10; noted < least {
			t.Errorf("round %d: %d are noted, want %d at least", round, noted, least)
		}
	}
	late := 0
	for _, addr := range slices.Backward(addrs) {
		if !l.note(addr, time.Hour+time.Minute, time.Hour+2*time.Minute) {
			late++
		}
	}
	if late > 1 { // one in 5,000 runs has two addresses with one tag in a line
		t.Errorf("%d are not told of after their time", late)
	}
}

// An address whose entry has ended takes its own place again, and leaves its neighbours theirs.
func TestLatelyKeepsNeighbours(t *testing.T) {
	l := newLately()
	var same []netip.Addr
	line, _ := l.place(netip.MustParseAddr("10.0.0.0"))
	for i := 0; len(same) < perLine; i++ {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if at, _ := l.place(addr); at == line {
			same = append(same, addr)
		}
	}
	for i, addr := range same {
		l.note(addr, time.Hour, time.Hour+time.Duration(i+1)*time.Minute)
	}
	last := same[perLine-1]
	now := time.Hour + perLine*time.Minute
	for range 10 {
		l.note(last, now, now+time.Second)
		now += time.Second
	}
	for i, addr := range same[:perLine-1] {
		if l.note(addr, time.Hour+time.Duration(i)*time.Minute, time.Hour+time.Duration(i+1)*time.Minute) {
			t.Errorf("%s has lost its place", addr)
		}
	}
}

// A request whose client is known costs no allocation.
func TestNoAllocation(t *testing.T) {
	v := New(Options{Kernel: &fakeKernel{}, For: time.Minute})
	addr := netip.MustParseAddr("2001:db8::1")
	r, d := &ruleset.Request{Peer: addr}, &ruleset.Decision{Client: addr, ClientFrom: clientip.FromPeer, Allowed: true}
	if n := testing.AllocsPerRun(100, func() { v.Observe(r, d, time.Hour) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	v := New(Options{Kernel: &fakeKernel{}, For: time.Minute})
	addr := netip.MustParseAddr("2001:db8::1")
	r, d := &ruleset.Request{Peer: addr}, &ruleset.Decision{Client: addr, ClientFrom: clientip.FromPeer, Allowed: true}
	for b.Loop() {
		v.Observe(r, d, time.Hour)
	}
}
