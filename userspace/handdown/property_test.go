package handdown

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// The window counts what a list of all offences does.
func TestWindowEqualsList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		var list []time.Duration
		within := time.Duration(rapid.IntRange(1, 20).Draw(t, "within"))
		most := rapid.IntRange(1, 8).Draw(t, "most")
		now := time.Duration(0)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 6).Draw(t, "later"))
			n := rapid.IntRange(1, most+1).Draw(t, "n")
			list = append(list, slices.Repeat([]time.Duration{now}, min(n, most))...)
			list = slices.DeleteFunc(list, func(at time.Duration) bool { return now-at >= within })
			list = list[max(0, len(list)-most):]
			if got := w.add(n, now, within, most); got != len(list) {
				t.Fatalf("%d offences count, want %v", got, list)
			}
			if len(w.moments) > 2*most+2 {
				t.Fatalf("%d moments are kept of %d", len(w.moments), most)
			}
			if rapid.IntRange(0, 20).Draw(t, "clear") == 0 {
				w.clear()
				list = nil
			}
		}
	})
}

// Where very many are wanted, none counts too long, and by no more than a part in mostMoments too short.
func TestLargeWindow(t *testing.T) {
	const most, within = 100_000, mostMoments * time.Microsecond
	var w window
	for i := range most {
		w.add(1, time.Duration(i)*30, within, most) // 3 ms in all
	}
	if w.total != most || len(w.moments) > mostMoments {
		t.Fatalf("%d offences in %d moments", w.total, len(w.moments))
	}
	if n := w.count(within, within); n < most-34 || n >= most {
		t.Errorf("%d offences count when the first no longer do", n)
	}
}

func TestSourceIsItsPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")
		addr := netip.AddrFrom16([16]byte(b)).Unmap()
		if rapid.Bool().Draw(t, "IPv4") {
			addr = netip.AddrFrom4([4]byte(b[:4]))
		}
		p, err := addr.Prefix(rapid.IntRange(8, addr.BitLen()).Draw(t, "bits"))
		if err != nil {
			t.Fatal(err)
		}
		if got := sourceOf(p).prefix(); got != p {
			t.Fatalf("%v, want %v", got, p)
		}
	})
}

// network is who is where: requests go from a client by proxies to this machine, maybe by a proxy on it.
type network struct {
	client  netip.Addr
	proxies []netip.Addr // trusted ones elsewhere, the first being the one that the client speaks to
	local   bool         // a proxy on this machine
	proto   bool         // which uses the PROXY protocol, not a header
	forged  []string     // what the client writes into the field
}

func drawNetwork(t *rapid.T) network {
	n := network{
		client: netip.AddrFrom4([4]byte{203, 0, 113, rapid.Byte().Draw(t, "client")}),
		local:  rapid.Bool().Draw(t, "local"),
		proto:  rapid.Bool().Draw(t, "PROXY"),
		forged: rapid.SliceOfN(rapid.SampledFrom([]string{"192.0.2.1", "198.51.100.1", "127.0.0.1", "x", ""}), 0, 3).Draw(t, "forged"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "proxies") {
		n.proxies = append(n.proxies, netip.AddrFrom4([4]byte{198, 51, 100, byte(rapid.IntRange(1, 9).Draw(t, "proxy"))}))
	}
	return n
}

// request is what arrives: each proxy appends its peer to the field.
func (n network) request() *ruleset.Request {
	path := append([]netip.Addr{n.client}, n.proxies...) // who speaks to the next
	lines := append([]string{}, n.forged...)
	for _, peer := range path[:len(path)-1] {
		lines = append(lines, peer.String())
	}
	r := &ruleset.Request{Peer: path[len(path)-1], Header: map[string][]string{}}
	if n.local && n.proto {
		r.Conn = netip.MustParseAddr("127.0.0.1")
	} else if n.local {
		lines = append(lines, r.Peer.String())
		r.Peer = netip.MustParseAddr("127.0.0.1")
	}
	if len(lines) > 0 {
		r.Header["X-Forwarded-For"] = lines
	}
	return r
}

// Whatever a client writes into a header: if his packets arrive here he is handed down, and nobody else ever is.
func TestForgedHeadersHitNobodyElse(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("127.0.0.0/8")}
	resolver, err := clientip.New(clientip.Options{Header: "X-Forwarded-For", TrustedProxies: trusted})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := drawNetwork(rt)
		c := usual()
		c.After = 1
		h := New(Options{Config: c, Kernel: &fakeKernel{}, TrustedProxies: trusted})
		r := n.request()
		client := resolver.Client(r.Peer, r.Header)
		d := &ruleset.Decision{Client: client.Addr, ClientFrom: client.Reason, ClientHop: client.Hop}
		h.Observe(r, d)
		var want []netip.Prefix
		if len(n.proxies) == 0 {
			want = []netip.Prefix{netip.PrefixFrom(n.client, 32)}
		}
		var got []netip.Prefix
		for _, c := range h.queue.take(nil) {
			got = append(got, c.prefix)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%+v: %v are handed down, want %v (%+v)", n, got, want, client)
		}
		if c := h.Counters(); len(want) == 0 && c.Spared[BehindProxy] != 1 {
			rt.Fatalf("%+v: spared %v", n, c.Spared)
		}
	})
}

// Whoever offends, and however long rules' prefixes are, no rule has to do with a protected or a trusted address.
func TestProtectedIsNeverHit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.Custom(func(t *rapid.T) netip.Prefix {
			addr := netip.AddrFrom4([4]byte{192, 0, byte(rapid.IntRange(0, 3).Draw(t, "third")), rapid.Byte().Draw(t, "fourth")})
			return netip.PrefixFrom(addr, rapid.IntRange(20, 32).Draw(t, "bits")).Masked()
		})
		protected, trusted := rapid.SliceOfN(prefix, 0, 3).Draw(t, "protected"), rapid.SliceOfN(prefix, 0, 3).Draw(t, "trusted")
		k := &fakeKernel{protected: func(p netip.Prefix) string { return map[bool]string{true: "allow"}[overlaps(p, protected)] }}
		c := usual()
		c.After, c.IPv4Prefix = 1, rapid.IntRange(20, 32).Draw(t, "ipv4_prefix")
		h := New(Options{Config: c, Kernel: k, TrustedProxies: trusted, Log: slog.New(slog.DiscardHandler)})
		r := runner{HandDown: h, most: mostRules}
		for _, p := range rapid.SliceOfN(prefix, 1, 20).Draw(t, "offenders") {
			h.Offend(Offence{Addr: p.Addr(), Origin: HTTP})
			r.work(context.Background())
			own, err := p.Addr().Prefix(c.IPv4Prefix)
			if err != nil {
				t.Fatal(err)
			}
			_, hit := k.rules[own]
			if want := !overlaps(own, protected) && !overlaps(own, trusted); hit != want {
				t.Fatalf("%v: hit %v, want %v", own, hit, want)
			}
		}
	})
}

// Offences, settings and looks may come at the same time.
func TestParallel(t *testing.T) {
	run(t, Options{MaxOffenders: 500}, func(l *lab) {
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := range 3000 {
					l.Offend(Offence{Addr: netip.AddrFrom4([4]byte{192, 0, byte(g % 2), byte(i)}), Origin: Nginx})
				}
			})
		}
		all.Go(func() {
			for i := range 100 {
				c := usual()
				c.After, c.DryRun = 1+i%9, i%2 == 0
				l.SetConfig(c, nil)
				l.Top(10)
				l.Counters()
			}
		})
		all.Go(func() {
			for i := range 100 {
				if _, err := l.Report(l.Context(), netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 3, byte(i)}), 32), Report, "", 9); err != nil {
					t.Error(err)
				}
			}
		})
		all.Wait()
		c := l.Counters()
		if c.Offences[Nginx] != 12_000 || c.Offences[Report] != 900 {
			t.Errorf("%+v", c)
		}
	})
}

// A flood from everywhere costs no more memory than is allowed, and what has a history is forgotten last.
func TestFloodOfOffenders(t *testing.T) {
	run(t, Options{MaxOffenders: 1000}, func(l *lab) {
		l.offends("203.0.113.1", 3)
		for i := range 50_000 {
			l.Offend(Offence{Addr: netip.AddrFrom4([4]byte{192, byte(i >> 16), byte(i >> 8), byte(i)}), Origin: HTTP})
		}
		if n := len(l.offenders.shards[0].list); n != 1000 || len(l.offenders.shards[0].index) != n {
			t.Errorf("%d are remembered", n)
		}
		c := l.Counters()
		if c.Evicted != 50_001-1000 {
			t.Errorf("%d evicted", c.Evicted)
		}
		if top := l.Top(1); top[0].Source.Addr() != netip.MustParseAddr("203.0.113.1") || top[0].Left == 0 {
			t.Errorf("who was handed down is forgotten: %+v", top)
		}
	})
}

// A proxy is told of once, not with each request.
func TestProxyIsToldOfOnce(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		observe := func(peer, conn, client string, hop int) {
			r := &ruleset.Request{}
			r.Peer, _ = netip.ParseAddr(peer)
			r.Conn, _ = netip.ParseAddr(conn)
			d := &ruleset.Decision{Client: netip.MustParseAddr(client), ClientFrom: clientip.FromHeader, ClientHop: hop}
			if hop == 0 {
				d.ClientFrom = clientip.UntrustedPeer
			}
			l.Observe(r, d)
		}
		for range 50 {
			observe("198.51.100.1", "", "203.0.113.1", 1)            // a proxy elsewhere
			observe("203.0.113.1", "198.51.100.2", "203.0.113.1", 0) // by the PROXY protocol
			observe("", "", "203.0.113.1", 2)                        // by a proxy behind the one on a unix socket
		}
		l.pass(0)
		l.wantBlocked()
		l.wantSpared(map[Reason]uint64{BehindProxy: 150})
		l.wantLog("clients behind a proxy", 3)
		if len(l.events) != 3 {
			t.Errorf("%+v", l.events)
		}
		l.pass(newsAfter)
		observe("198.51.100.1", "", "203.0.113.1", 1)
		l.pass(0)
		l.wantLog("clients behind a proxy", 4)
		for i := range 2 * mostSaid {
			observe(fmt.Sprintf("198.51.%d.%d", i>>8, i&255), "", "203.0.113.1", 1)
		}
		if n := len(*l.said.about.Load()); n > mostSaid {
			t.Errorf("%d are remembered", n)
		}
	})
}

func TestNotAllocated(t *testing.T) {
	h := New(Options{Config: usual(), Kernel: &fakeKernel{}})
	r := &ruleset.Request{Peer: netip.MustParseAddr("192.0.2.1")}
	d := &ruleset.Decision{Client: r.Peer, ClientFrom: clientip.FromPeer}
	behind := &ruleset.Decision{Client: r.Peer, ClientFrom: clientip.FromHeader, ClientHop: 1}
	h.Observe(r, d)
	for name, f := range map[string]func(){"an offence": func() { h.Observe(r, d) }, "behind a proxy": func() { h.Observe(r, behind) }} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	r := &ruleset.Request{Peer: netip.MustParseAddr("192.0.2.1")}
	for name, from := range map[string]clientip.Reason{"held": clientip.FromPeer, "behind": clientip.FromHeader} {
		b.Run(name, func(b *testing.B) {
			h := New(Options{Config: usual(), Kernel: &fakeKernel{}})
			d := &ruleset.Decision{Client: r.Peer, ClientFrom: from, ClientHop: 1}
			for b.Loop() {
				h.Observe(r, d)
			}
		})
	}
	b.Run("counting", func(b *testing.B) {
		c := usual()
		c.After = 1 << 20
		h := New(Options{Config: c, Kernel: &fakeKernel{}})
		d := &ruleset.Decision{Client: r.Peer, ClientFrom: clientip.FromPeer}
		for b.Loop() {
			h.Observe(r, d)
		}
	})
	b.Run("clock", func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	})
}
