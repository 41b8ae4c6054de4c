package handdown

import "net/netip"

// Origin is who saw an offence. It is a closed set: metrics have a series for each.
type Origin string

// The origins, in the words of event.Event.
const (
	HTTP   Origin = "http"   // our own limiter
	Nginx  Origin = "nginx"  // nginx's error log
	Report Origin = "report" // the command or the admin API
)

// Origins returns all origins.
func Origins() []Origin { return []Origin{HTTP, Nginx, Report} }

// Offence is something that a source must not do again and again.
type Offence struct {
	Addr   netip.Addr // whose packets it came in; an IPv4-mapped one is the IPv4 address
	Origin Origin
	Rule   string // of the HTTP limiter, if it was that
	Zone   string // likewise, or of nginx
	Reason string // in words; may be empty
}

// Reason is why an offence leads to no rule. It is a closed set: metrics have a series for each.
type Reason string

// The reasons.
const (
	Unknown      Reason = "unknown"       // nobody knows the client's address
	BehindProxy  Reason = "behind_proxy"  // the packets are a proxy's, not the client's
	TrustedProxy Reason = "trusted_proxy" // it is one, or a rule would be for one too
	Private      Reason = "private"       // and the configuration does not ask for those
	Unusual      Reason = "unusual"       // no address that a client can have: multicast, unspecified
	Own          Reason = "own"           // an address of this machine
	Translated   Reason = "translated"    // a limit would be for all who share a source, as behind NAT64
	Neighbour    Reason = "neighbour"     // likewise, for machines in a network of this one
	Protected    Reason = "protected"     // the kernel's limiter says so: an allow rule, or who administers the machine
	Full         Reason = "full"          // as many rules are in force as are allowed
	Failed       Reason = "failed"        // the kernel's limiter took no rule until it would have ended
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{Unknown, BehindProxy, TrustedProxy, Private, Unusual, Own, Translated, Neighbour, Protected, Full, Failed}
}
