package conformance

import (
	"net/http"
	"net/netip"
	"strconv"
)

// passes is the answer to a request that passes, with the fields of draft10.
func passes(policy, state string) Answer {
	return Answer{Status: http.StatusOK, Header: header("Ratelimit-Policy", policy, "Ratelimit", state)}
}

// unlimited is the answer to a request that no limit applies to.
func unlimited() Answer { return Answer{Status: http.StatusOK, Header: http.Header{}} }

// refused is the answer to a request that may come again after retry seconds.
func refused(policy, state string, retry int) Answer {
	return refusal(http.StatusTooManyRequests, retry, "application/problem+json", "Ratelimit-Policy", policy, "Ratelimit", state)
}

// refusal is a refusal with these fields; retry is 0 where no waiting helps.
func refusal(status, retry int, contentType string, fields ...string) Answer {
	h := header(fields...)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	if retry > 0 {
		h.Set("Retry-After", strconv.Itoa(retry))
	}
	return Answer{Status: status, Header: h}
}

// header makes a header of names and values.
func header(fields ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Add(fields[i], fields[i+1])
	}
	return h
}

// from returns a request for / from peer, with fields.
func from(peer string, want Answer, fields ...string) Step {
	return Step{Peer: netip.MustParseAddr(peer), Header: header(fields...), Want: want}
}

// get returns a request for target from one client.
func get(target string, want Answer, fields ...string) Step {
	s := from("192.0.2.7", want, fields...)
	s.Target = target
	return s
}

// times makes s so many requests.
func (s Step) times(n int) Step { s.Times = n; return s }

// method changes the method of s.
func (s Step) method(m string) Step { s.Method = m; return s }

// host changes the host of s.
func (s Step) host(h string) Step { s.Host = h; return s }
