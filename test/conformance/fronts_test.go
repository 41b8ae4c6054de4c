package conformance_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/httplimit"
)

// TestFronts: the same requests, the same decisions and the same fields, whoever asks.
func TestFronts(t *testing.T) {
	conformance.Run(t, openProxy, openAuthRequest, openForward, openCheck, openRateLimit)
}

// backend answers what the proxy passes on.
type backend struct{}

func (backend) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func openProxy(t *testing.T, r conformance.Rules) conformance.Front {
	u := config.Upstream{Servers: []*url.URL{{Scheme: "http", Host: "127.0.0.1:9000"}}, Timeout: time.Minute, PreserveHost: true}
	p, err := gateway.NewProxy(u, gateway.ProxyOptions{Transport: backend{}, TrustedProxies: r.HTTP.ClientIP.TrustedProxies})
	if err != nil {
		t.Fatal(err)
	}
	return conformance.Handler{Label: "proxy", Handler: httplimit.New(r.Set, r.Options)(p), Ask: conformance.Direct}
}
