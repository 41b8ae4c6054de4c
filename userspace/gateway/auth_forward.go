package gateway

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// What Traefik and Caddy tell. They overwrite what a client sends in these fields.
const (
	forwardedMethod = "X-Forwarded-Method"
	forwardedURI    = "X-Forwarded-Uri"
)

// toldByForward reads what forward-auth of Traefik and Caddy tells.
func toldByForward(r *http.Request) (*http.Request, error) {
	q := question{
		method: r.Header.Get(forwardedMethod),
		host:   r.Header.Get(forwardedHost),
		uri:    r.Header.Get(forwardedURI),
		header: r.Header.Clone(),
	}
	for _, name := range []string{forwardedMethod, forwardedHost, forwardedURI, forwardedProto} {
		q.header.Del(name)
	}
	q.peer = cutLast(q.header)
	return q.request(r)
}

// cutLast removes from X-Forwarded-For the last value, which is the gateway's peer and which the gateway has added, and
// returns it. What is before it the gateway has got from its client, as the proxy would.
func cutLast(h http.Header) string {
	lines := h[forwardedFor]
	if len(lines) == 0 {
		return ""
	}
	last := len(lines) - 1
	before, value := "", lines[last]
	comma := strings.LastIndexByte(value, ',')
	if comma >= 0 {
		before, value = value[:comma], value[comma+1:]
	}
	switch {
	case comma >= 0:
		lines[last] = before
	case last > 0:
		h[forwardedFor] = lines[:last]
	default:
		h.Del(forwardedFor)
	}
	return strings.Trim(value, " \t")
}

// refuseForward returns a httplimit.Options.Reject that answers as the middleware does. But it sends the body also
// where the client's request is a HEAD: the gateway's may be none, and then waits for it.
func refuseForward(o httplimit.Options) func(http.ResponseWriter, *http.Request, *ruleset.Decision) {
	return func(w http.ResponseWriter, r *http.Request, d *ruleset.Decision) {
		var answer httplimit.Response
		answer.Refuse(d, strings.Join(r.Header["Accept"], ","), &o)
		h := w.Header()
		for name, value := range answer.Fields() { // those that the middleware has set are the same
			h.Set(name, string(value))
		}
		h.Set("Content-Length", strconv.Itoa(len(answer.Body)))
		w.WriteHeader(d.Status)
		_, _ = w.Write(answer.Body) // an error is that the gateway left
	}
}
