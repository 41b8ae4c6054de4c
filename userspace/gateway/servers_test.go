package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// A proxy knows the addresses of its servers: those that are configured, and those of names that it has connected to.
func TestReaches(t *testing.T) {
	named := backend(t, func(http.ResponseWriter, *http.Request) {})
	named.Host = strings.Replace(named.Host, "127.0.0.1", "localhost", 1)
	found := make(chan struct{}, 16)
	looked := newTestProxy(t, upstream(named), ProxyOptions{Met: func() { found <- struct{}{} }})
	met := newTestProxy(t, upstream(named), ProxyOptions{})
	at := netip.MustParsePrefix("127.0.0.0/8")
	if looked.Reaches(at) {
		t.Error("a server that nobody has looked up is known")
	}
	ctx, stop := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() { looked.lookUp(ctx, looked.pool.Load()) })
	<-found
	stop()
	looking.Wait()
	do(t, client(t, &http.Transport{}), http.MethodGet, serveProxy(t, met), "")
	if !looked.Reaches(at) || !met.Reaches(at) {
		t.Errorf("by its name %v, by a request %v", looked.Reaches(at), met.Reaches(at))
	}
	p := met
	if err := p.Replace(upstream(named, parse(t, "http://192.0.2.1:9000"), parse(t, "http://[2001:db8::1]"))); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]bool{
		"127.0.0.0/8": true, "192.0.2.1/32": true, "192.0.2.0/24": true, "192.0.2.2/32": false, "2001:db8::/32": true, "2001:db8::2/128": false,
	} {
		if got := p.Reaches(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v, want %v", prefix, got, want)
		}
	}
}
