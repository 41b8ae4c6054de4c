package agent

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// localAge is how old what is known of the machine's addresses may be.
const localAge = 10 * time.Second

// local knows the addresses of this machine. The zero value is ready.
type local struct {
	mu    sync.Mutex
	addrs map[netip.Addr]bool
	read  time.Time
}

// is reports whether an address is one of this machine.
func (l *local) is(addr netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.addrs == nil || now.Sub(l.read) > localAge {
		l.read = now
		if addrs, err := interfaceAddrs(); err == nil { // if not, it is as it was
			l.addrs = addrs
		}
	}
	return l.addrs[addr.Unmap().WithZone("")]
}

func interfaceAddrs() (map[netip.Addr]bool, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	addrs := make(map[netip.Addr]bool)
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			addrs[p.Addr().Unmap().WithZone("")] = true
		}
	}
	return addrs, nil
}
