// Package dialed remembers where a process connects to, so that nobody cuts it off from there by mistake: from the servers of a
// file by their names, and from those that others told it of.
package dialed

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// most bounds how many addresses are remembered; of more, those that were not dialed for longest are forgotten.
const most = 256

// Addrs are addresses that were dialed, whether they answered or not. The zero value has none. All methods may be called at the
// same time.
type Addrs struct {
	mu   sync.Mutex
	last map[netip.Addr]time.Time // when it was dialed
}

// Control is that of a net.Dialer: it remembers an address with a port that is being dialed. It has nothing against any.
func (a *Addrs) Control(_, address string, _ syscall.RawConn) error {
	a.note(address, time.Now())
	return nil
}

// LookUp remembers the addresses that a name has now, before it is dialed. It returns when ctx ends.
func (a *Addrs) LookUp(ctx context.Context, name string) {
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", name) // of one that has none there is nothing to remember
	for _, addr := range all {
		a.add(addr, time.Now())
	}
}

func (a *Addrs) note(address string, now time.Time) {
	if at, err := netip.ParseAddrPort(address); err == nil { // one of the internet
		a.add(at.Addr(), now)
	}
}

func (a *Addrs) add(addr netip.Addr, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[netip.Addr]time.Time{}
	}
	a.last[plain(addr)] = now
	if len(a.last) > most {
		delete(a.last, a.oldest())
	}
}

func (a *Addrs) oldest() (oldest netip.Addr) {
	for addr, at := range a.last {
		if !oldest.IsValid() || at.Before(a.last[oldest]) {
			oldest = addr
		}
	}
	return oldest
}

// In reports whether one of them is in a prefix.
func (a *Addrs) In(prefix netip.Prefix) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for addr := range a.last {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// IsIn reports whether a host, as it is written in a file, is an address in a prefix. A name is not.
func IsIn(host string, prefix netip.Prefix) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && prefix.Contains(plain(addr))
}

// plain returns an address as prefixes have it.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
