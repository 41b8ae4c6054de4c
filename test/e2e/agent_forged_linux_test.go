package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/netlab"
)

// forgeries are what a client may write into its requests to be taken for somebody else.
func forgeries(n int) [][]string {
	other := fmt.Sprintf("192.0.2.%d", 100+n)
	return [][]string{
		{"X-Forwarded-For", modest},
		{"X-Forwarded-For", other},
		{"X-Forwarded-For", modest + ", " + other + ", 127.0.0.1"},
		{"X-Forwarded-For", "127.0.0.1", "X-Forwarded-For", modest},
		{"Forwarded", "for=" + modest, "X-Real-IP", modest, "True-Client-IP", modest, "CF-Connecting-IP", modest},
	}
}

// Whatever a client writes into its header, where no proxy is trusted it is charged itself, and handed down itself.
func TestAgentForgedWithoutProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(strings.Replace(strict, "after: 3", "after: 24", 1))
	offender := s.browser(flooder)
	allowed := 0
	for n := range 5 {
		for _, header := range forgeries(n) {
			if offender.get("/", header...).status == http.StatusOK {
				allowed++
			}
		}
	}
	if allowed != 1 {
		t.Errorf("%d requests passed, want 1", allowed)
	}
	s.awaitDropped()
	a.awaitLine("handed down", flooder)
	s.wantPassed(modest, 20, 20)
	s.browser(modest).wantStatuses(1, 1)
	if got := s.rulesByPrefix(); len(got) != 1 || got[flooder+"/32"] != "block handdown" {
		t.Errorf("rules are %v", got)
	}
}

// trustingThird believes what third says of its clients.
func trustingThird() string {
	return strings.NewReplacer("http:\n", "http:\n  client_ip: {header: X-Forwarded-For, trusted_proxies: ["+third+", 127.0.0.1]}\n").Replace(strict)
}

// Behind a trusted proxy a client is who the proxy says it is, wherever else it claims to come from. It is refused, and
// neither it nor the proxy is dropped by the kernel, as the packets are the proxy's. Who is no proxy is not believed.
func TestAgentForgedBehindProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(trustingThird())
	proxy := s.browser(third)
	allowed := 0
	for n := range 4 {
		for _, header := range forgeries(n) {
			header[len(header)-1] += ", " + flooder // as proxies do
			if header[0] != "X-Forwarded-For" {
				header = append(header, "X-Forwarded-For", flooder)
			}
			if proxy.get("/", header...).status == http.StatusOK {
				allowed++
			}
		}
	}
	if allowed != 1 {
		t.Errorf("%d requests passed, want 1", allowed)
	}
	a.awaitLine("clients behind a proxy are not handed down", third)
	proxy.wantStatuses(1, 1, "X-Forwarded-For", modest) // nobody else is charged
	s.browser(neighbour).wantStatuses(3, 1, "X-Forwarded-For", modest)
	for _, source := range []string{third, flooder, modest} {
		s.wantPassed(source, 20, 20)
	}
	if got := s.rulesByPrefix(); len(got) != 0 {
		t.Errorf("rules are %v", got)
	}
}

// Behind a proxy on this machine a client is dropped: the one that the proxy has seen, and nobody that it claims to be.
func TestAgentForgedBehindLocalProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(trustingThird())
	proxy := s.local(webPort)
	for n := range 2 {
		for _, header := range forgeries(n)[:2] {
			proxy.get("/", "X-Forwarded-For", header[1]+", "+flooder)
		}
	}
	a.awaitLine("handed down", flooder)
	s.wantPassed(flooder, 20, 0)
	s.wantPassed(modest, 20, 20)
	// Two hops: the packets are third's, whoever that names.
	for range 6 {
		proxy.get("/", "X-Forwarded-For", neighbour+", "+third)
	}
	s.wantPassed(neighbour, 20, 20)
	s.wantPassed(third, 20, 20)
	if got := s.rulesByPrefix(); len(got) != 1 {
		t.Errorf("rules are %v", got)
	}
}

// What a PROXY protocol header of a listed peer says is believed, and drops nobody; that of others is not read.
func TestAgentForgedProxyProtocol(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.start(strings.Replace(strict, `["0.0.0.0:8080"]`, `[{address: "0.0.0.0:8080", proxy_protocol: [`+third+`]}]`, 1))
	for n := range 6 {
		status := s.throughProxy(third, flooder)
		if want := []int{http.StatusOK, http.StatusTooManyRequests}[min(n, 1)]; status != want {
			t.Errorf("request %d of %s has status %d, want %d", n+1, flooder, status, want)
		}
		if status := s.throughProxy(neighbour, modest); status == http.StatusOK {
			t.Error("a header of somebody who is not listed was read")
		}
	}
	if status := s.throughProxy(third, modest); status != http.StatusOK {
		t.Errorf("status %d: %s is charged for what others did", status, modest)
	}
	for _, source := range []string{third, flooder, modest, neighbour} {
		s.wantPassed(source, 20, 20)
	}
	if got := s.rulesByPrefix(); len(got) != 0 {
		t.Errorf("rules are %v", got)
	}
}

// A proxy on this machine that speaks the PROXY protocol has seen its clients itself: they are dropped, and nobody whom
// they name.
func TestAgentLocalProxyProtocol(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(strings.Replace(strict, `["0.0.0.0:8080"]`, `[{address: "0.0.0.0:8080", proxy_protocol: [127.0.0.1]}]`, 1))
	proxy := s.local(webPort)
	proxy.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.announce(ctx, s.pair.Far.Namespace, "127.0.0.1", flooder)
	}}
	proxy.wantStatuses(4, 1, "X-Forwarded-For", modest)
	a.awaitLine("handed down", flooder)
	s.wantPassed(flooder, 20, 0)
	s.wantPassed(modest, 20, 20)
	if got := s.rulesByPrefix(); len(got) != 1 {
		t.Errorf("rules are %v", got)
	}
}

// throughProxy sends a request with a PROXY protocol header, and returns the status; 0 where there is no answer.
func (s *site) throughProxy(from, says string) int {
	s.tb.Helper()
	conn, err := s.announce(s.tb.Context(), s.pair.Near.Namespace, from, says)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") // it may be closed by now
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.tb.Logf("a header from %s that says %s: %v", from, says, err)
		return 0
	}
	defer r.Body.Close()
	return r.StatusCode
}

// announce connects and sends a PROXY protocol header.
func (s *site) announce(ctx context.Context, ns *netlab.Namespace, from, says string) (net.Conn, error) {
	conn, err := dial(ctx, ns, from, net.JoinHostPort(target, webPort))
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "PROXY TCP4 %s %s 5555 8080\r\n", says, target)
	return conn, err
}
