package envoy

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// subject is what descriptors tell of a request.
type subject struct {
	ruleset.Request
	network netip.Prefix // that the peer is in, where Peer is not known
}

// describe returns what the entries of a descriptor tell. Of a key that occurs more than once, the first value counts.
func describe(entries []pair) (s subject) {
	var f fields
	for i := range entries {
		s.add(&f, entries[i].key, entries[i].value)
	}
	s.Header = f.header
	return s
}

// add notes an entry, whose key may be that of a field.
func (s *subject) add(f *fields, key, value string) {
	switch key {
	case "remote_address":
		if !s.Peer.IsValid() {
			s.Peer = clientip.Peer(value)
		}
	case "masked_remote_address":
		if !s.network.IsValid() {
			s.network, _ = netip.ParsePrefix(value) // what is none says nothing
		}
	case "path", ":path":
		if s.Path == "" {
			s.Path, s.RawQuery = splitTarget(value)
		}
	case "method", ":method":
		s.Method = orElse(s.Method, value)
	case "host", ":host", "authority", ":authority":
		s.Host = orElse(s.Host, value)
	default:
		f.add(key, value)
	}
}

// join adds what t tells, unless one contradicts the other. It reports whether they agree.
func (s *subject) join(t *subject) bool {
	if !s.agrees(t) {
		return false
	}
	if !s.Peer.IsValid() {
		s.Peer = t.Peer
	}
	if !s.network.IsValid() {
		s.network = t.network
	}
	if s.Path == "" {
		s.Path, s.RawQuery = t.Path, t.RawQuery
	}
	s.Method, s.Host = orElse(s.Method, t.Method), orElse(s.Host, t.Host)
	if s.Header == nil {
		s.Header = t.Header
	}
	maps.Copy(s.Header, t.Header)
	return true
}

func (s *subject) agrees(t *subject) bool {
	if !agree(s.Method, t.Method) || !agree(s.Host, t.Host) || !agree(s.Path, t.Path) || s.Path != "" && t.Path != "" && s.RawQuery != t.RawQuery {
		return false
	}
	if !s.agreesOnPeer(t) {
		return false
	}
	for name, values := range t.Header {
		if known, has := s.Header[name]; has && !slices.Equal(known, values) {
			return false
		}
	}
	return true
}

// agreesOnPeer reports whether addresses and networks can be those of one peer.
func (s *subject) agreesOnPeer(t *subject) bool {
	return (!s.Peer.IsValid() || !t.Peer.IsValid() || s.Peer == t.Peer) &&
		(!s.network.IsValid() || !t.network.IsValid() || s.network == t.network) &&
		isWithin(s.Peer, t.network) && isWithin(t.Peer, s.network)
}

// isWithin reports whether a is in p, if both are known.
func isWithin(a netip.Addr, p netip.Prefix) bool {
	return !a.IsValid() || !p.IsValid() || p.Contains(a)
}

// request returns the request, which is asked about by conn and has so many units.
func (s *subject) request(conn netip.Addr, units uint64) *ruleset.Request {
	if !s.Peer.IsValid() && s.network.IsValid() {
		s.Peer = s.network.Addr()
	}
	s.Conn, s.Units = conn, units
	s.Hearsay = true // Envoy takes remote_address from X-Forwarded-For where it is told to
	return &s.Request
}

func agree(a, b string) bool { return a == "" || b == "" || a == b }

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
