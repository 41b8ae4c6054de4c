package redisconn

import (
	"net"
	"net/netip"
	"sync"
)

// mostServers bounds how many addresses are remembered: those of a large cluster, and of servers before them.
const mostServers = 4096

// servers are the addresses that connections were made to: the names in a configuration, sentinels and nodes of a cluster
// lead to more than it has. They are remembered when a connection has ended, too. The zero value is ready.
type servers struct {
	mu  sync.Mutex
	all map[netip.Addr]struct{}
}

func (s *servers) note(at net.Addr) {
	tcp, is := at.(*net.TCPAddr)
	if !is {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[netip.Addr]struct{}{}
	}
	if len(s.all) < mostServers {
		s.all[tcp.AddrPort().Addr().Unmap().WithZone("")] = struct{}{}
	}
}

// Reaches reports whether a server that the Conn has connected to is in a prefix.
func (c *Conn) Reaches(prefix netip.Prefix) bool {
	if c.servers == nil {
		return false
	}
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	for addr := range c.servers.all {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
