package agent

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// localAge is how old what is known of the machine's addresses may be.
const localAge = 10 * time.Second

// local knows the addresses of this machine, and the networks that it is in. The zero value is ready.
type local struct {
	reading sync.Mutex
	known   atomic.Pointer[located]
}

// located is what was read at a time.
type located struct {
	addrs    map[netip.Addr]bool
	networks []netip.Prefix
	at       time.Time
}

// is reports whether an address is one of this machine.
func (l *local) is(addr netip.Addr) bool { return l.now().addrs[addr.Unmap().WithZone("")] }

// near reports whether a network that this machine is in overlaps a prefix.
func (l *local) near(prefix netip.Prefix) bool {
	return slices.ContainsFunc(l.now().networks, prefix.Overlaps)
}

// within reports whether an address of this machine is in a prefix.
func (l *local) within(prefix netip.Prefix) bool {
	for addr := range l.now().addrs {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// now returns what is known, and reads it where that is too old.
func (l *local) now() *located {
	known := l.known.Load()
	if known != nil && time.Since(known.at) <= localAge {
		return known
	}
	l.reading.Lock()
	defer l.reading.Unlock()
	if newer := l.known.Load(); newer != known {
		return newer
	}
	next := &located{at: time.Now()}
	if all, err := net.InterfaceAddrs(); err == nil {
		next.addrs, next.networks = locate(all)
	} else if known != nil { // it is as it was
		next.addrs, next.networks = known.addrs, known.networks
	}
	l.known.Store(next)
	return next
}

// locate splits the addresses of interfaces.
func locate(all []net.Addr) (addrs map[netip.Addr]bool, networks []netip.Prefix) {
	addrs = make(map[netip.Addr]bool)
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		addrs[p.Addr().Unmap().WithZone("")] = true
		if network := p.Masked(); !slices.Contains(networks, network) {
			networks = append(networks, network)
		}
	}
	return addrs, networks
}
