package redisconn

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// mostPeers bounds how many addresses are remembered; of more, those that were not dialed for longest are forgotten.
const mostPeers = 256

// peers are the addresses of servers: those that names were found to have, and those that sentinels and clusters told of,
// whether they answered or not. The zero value has none.
type peers struct {
	mu   sync.Mutex
	last map[netip.Addr]time.Time // when it was dialed
}

// dialer returns what the library is to connect by.
func (p *peers) dialer(secrets *tls.Config) dialing {
	plain := &net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		p.note(address, time.Now())
		return nil
	}}
	if secrets == nil {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: secrets}).DialContext
}

// note notes that an address with a port is being dialed.
func (p *peers) note(address string, now time.Time) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return // no address of the internet
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[netip.Addr]time.Time{}
	}
	p.last[at.Addr().Unmap().WithZone("")] = now
	if len(p.last) > mostPeers {
		delete(p.last, p.oldest())
	}
}

func (p *peers) oldest() (oldest netip.Addr) {
	for addr, at := range p.last {
		if !oldest.IsValid() || at.Before(p.last[oldest]) {
			oldest = addr
		}
	}
	return oldest
}

// Reaches reports whether an address of a server is in a prefix: one that this process has connected to, or tried to.
func (c *Conn) Reaches(prefix netip.Prefix) bool {
	if c.peers == nil {
		return false
	}
	c.peers.mu.Lock()
	defer c.peers.mu.Unlock()
	for addr := range c.peers.last {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
