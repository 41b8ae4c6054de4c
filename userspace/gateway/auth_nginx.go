package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// What nginx tells, by proxy_set_header, so that a client cannot.
const (
	nginxPeer   = "X-Headgate-Peer"   // $remote_addr
	nginxMethod = "X-Headgate-Method" // $request_method
	nginxURI    = "X-Headgate-Uri"    // $request_uri
	nginxHost   = "X-Headgate-Host"   // $http_host
)

// What nginx is told of a refusal. It knows no status but 403 for one, and reads no body.
const (
	nginxStatus = "X-Headgate-Status"
	nginxBody   = "X-Headgate-Body"
)

func errPeer(peer string) error {
	if peer == "" {
		return fmt.Errorf("the gateway does not say who the request is from; see the recipe for what to set (%s of nginx, %s of others)", nginxPeer, forwardedFor)
	}
	return fmt.Errorf("the gateway says that the request is from %q, which is no address", peer)
}

// toldByNginx reads what auth_request of nginx tells.
func toldByNginx(r *http.Request) (*http.Request, error) {
	q := question{
		peer:   r.Header.Get(nginxPeer),
		method: r.Header.Get(nginxMethod),
		host:   r.Header.Get(nginxHost),
		uri:    r.Header.Get(nginxURI),
		header: r.Header.Clone(),
	}
	for _, name := range []string{nginxPeer, nginxMethod, nginxURI, nginxHost} {
		q.header.Del(name)
	}
	return q.request(r)
}

// refuseNginx returns a httplimit.Options.Reject that says 403, and in fields what the client is to get.
func refuseNginx(o httplimit.Options) func(http.ResponseWriter, *http.Request, *ruleset.Decision) {
	return func(w http.ResponseWriter, _ *http.Request, d *ruleset.Decision) {
		// nginx cannot set the content type by a variable, so there is one.
		var answer httplimit.Response
		answer.Refuse(d, "application/problem+json", &o)
		h := w.Header()
		h.Set(nginxStatus, strconv.Itoa(d.Status))
		h.Set(nginxBody, string(bytes.TrimSpace(answer.Body)))
		w.WriteHeader(http.StatusForbidden)
	}
}
