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

// most bounds how many addresses are remembered: more than a file has servers, as others may tell of any number. Of more, those that were
// not dialed for longest are forgotten.
const most = 4096

// Addrs are addresses that were dialed, whether they answered or not. The zero value has none. All methods may be called at the
// same time.
type Addrs struct {
	// New is called for an address that was not known. It must not wait, and is set before all else; nil for nobody.
	New func()

	mu   sync.Mutex
	last map[netip.Addr]time.Time // when it was dialed
}

// Control is that of a net.Dialer: it remembers an address with a port that is being dialed. It has nothing against any.
func (a *Addrs) Control(_, address string, _ syscall.RawConn) error {
	a.note(address, time.Now())
	return nil
}

// LookUp remembers the addresses that a name has now, before it is dialed. It returns when ctx ends.
func (a *Addrs) LookUp(ctx context.Context, name string) error {
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for _, addr := range all {
		a.add(addr, time.Now())
	}
	return err
}

func (a *Addrs) note(address string, now time.Time) {
	if at, err := netip.ParseAddrPort(address); err == nil { // one of the internet
		a.add(at.Addr(), now)
	}
}

func (a *Addrs) add(addr netip.Addr, now time.Time) {
	if a.keep(plain(addr), now) && a.New != nil {
		a.New()
	}
}

// keep remembers an address, and reports whether it was not known.
func (a *Addrs) keep(addr netip.Addr, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[netip.Addr]time.Time{}
	}
	_, known := a.last[addr]
	a.last[addr] = now
	if len(a.last) > most {
		delete(a.last, a.oldest())
	}
	return !known
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
