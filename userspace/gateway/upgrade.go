package gateway

import (
	"net/http"
	"strings"
)

// refuseUpgrade takes out of a request the wish to go on in another protocol, if that may be HTTP again: a server that agreed would
// get requests from then on that no limit sees. To be asked is no obligation, so that the request itself goes on.
func refuseUpgrade(h http.Header) {
	for _, list := range h["Upgrade"] {
		for protocol := range strings.SplitSeq(list, ",") {
			if !leadsToHTTP(strings.TrimSpace(protocol)) {
				continue
			}
			h.Del("Upgrade")
			h.Del("Connection") // which has nothing else: what it named is removed
			h.Del("HTTP2-Settings")
			return
		}
	}
}

// leadsToHTTP reports whether requests can come in a protocol: h2c (RFC 7540, 3.2), HTTP/2.0, or TLS/1.2 (RFC 2817).
func leadsToHTTP(protocol string) bool {
	name, _, _ := strings.Cut(strings.ToLower(protocol), "/")
	switch name {
	case "h2c", "h2", "h3", "http", "https", "tls", "ssl":
		return true
	}
	return false
}
