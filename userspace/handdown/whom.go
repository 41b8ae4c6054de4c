package handdown

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Observe makes an offence of a request that was refused. It does nothing for others, also those that only a rule in
// dry run would refuse, and those that were refused because a store of limits did not answer. Nothing of r and d is kept. It does not wait.
func (h *HandDown) Observe(r *ruleset.Request, d *ruleset.Decision) {
	if d.Allowed || d.Unavailable {
		return
	}
	why, voucher := absent(r, d, h.o.Local)
	if why == "" {
		h.Offend(Offence{Addr: d.Client, Origin: HTTP, Rule: d.Rule, Zone: d.Zone})
		return
	}
	stripe := h.counts.of(source{})
	stripe.offence(HTTP).Add(1)
	stripe.spare(why).Add(1)
	if why == BehindProxy && h.said.first(voucher, h.now()) {
		h.tellOfProxy(voucher)
	}
}

// Sender returns whose packets have brought a request to this machine, by a connection that could not be made with a
// forged address: the client's, or those of the proxy elsewhere that he is behind. It is invalid where nobody here
// knows, or where all is on this machine. local reports whether an address is one of it; loopback ones always are.
func Sender(r *ruleset.Request, d *ruleset.Decision, local func(netip.Addr) bool) netip.Addr {
	why, sender := absent(r, d, local)
	switch {
	case why == "":
		sender = d.Client
	case told(r) && !here(r.Conn, local):
		sender = r.Conn
	}
	if here(sender, local) {
		return netip.Addr{}
	}
	return sender.Unmap().WithZone("")
}

// told reports whether somebody else than the kernel says who r.Peer is.
func told(r *ruleset.Request) bool {
	return r.Conn.IsValid() && r.Conn.Unmap().WithZone("") != r.Peer.Unmap().WithZone("")
}

// absent returns why packets of d.Client do not arrive here as his, and who says that the request is his;
// empty if they do: a rule for his address would drop them, and nobody else's.
func absent(r *ruleset.Request, d *ruleset.Decision, local func(netip.Addr) bool) (why Reason, voucher netip.Addr) {
	if !d.Client.IsValid() || r.Hearsay {
		return Unknown, netip.Addr{}
	}
	switch d.ClientFrom {
	case clientip.FromPeer, clientip.UntrustedPeer:
		if told(r) && !here(r.Conn, local) {
			return BehindProxy, r.Conn
		}
	case clientip.FromHeader:
		switch {
		case told(r) && !here(r.Conn, local):
			return BehindProxy, r.Conn
		case d.ClientHop > 1 || !here(r.Peer, local):
			return BehindProxy, r.Peer
		}
	case clientip.TooFewHops: // a proxy was bypassed, and nobody knows which
		return BehindProxy, r.Peer
	default: // a proxy whose word is believed and that said nothing of use
		return TrustedProxy, r.Peer
	}
	return "", netip.Addr{}
}

// here reports whether addr is on this machine. An invalid one is the peer on a unix socket.
func here(addr netip.Addr, local func(netip.Addr) bool) bool {
	addr = addr.Unmap()
	return !addr.IsValid() || addr.IsLoopback() || local(addr)
}

// tellOfProxy has Run say that clients behind a proxy are not handed down.
func (h *HandDown) tellOfProxy(proxy netip.Addr) {
	name := "a unix socket"
	if proxy.IsValid() {
		name = proxy.String()
	}
	e := event.Event{
		Time: h.date(), Kind: event.Spared, Origin: string(HTTP),
		Reason: string(BehindProxy), Name: name,
	}
	select {
	case h.notices <- e:
	default: // so many proxies at once are no news
	}
}

const (
	// mostSaid is how many proxies are told of, and newsAfter when they are again.
	mostSaid  = 1024
	newsAfter = time.Hour
)

// said is whom something was said about. It is read with each request that a proxy sends and that is refused, and
// rarely written to.
type said struct {
	mu    sync.Mutex
	about atomic.Pointer[map[netip.Addr]time.Duration] // and when that is news again
}

// first reports whether nothing was said about addr for newsAfter, and notes that it is now.
func (s *said) first(addr netip.Addr, now time.Duration) bool {
	if about := s.about.Load(); about != nil && now < (*about)[addr] {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	about := make(map[netip.Addr]time.Duration)
	if old := s.about.Load(); old != nil {
		for a, until := range *old {
			if now < until {
				about[a] = until
			}
		}
	}
	if _, known := about[addr]; known || len(about) >= mostSaid {
		return false
	}
	about[addr] = now + newsAfter
	s.about.Store(&about)
	return true
}
