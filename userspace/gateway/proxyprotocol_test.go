package gateway

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
)

// header returns a PROXY protocol header of a version, for a connection from 203.0.113.7:4711.
func header(t *testing.T, version byte, command proxyproto.ProtocolVersionAndCommand) string {
	t.Helper()
	h := proxyproto.HeaderProxyFromAddrs(version,
		&net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 4711}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80})
	h.Command = command
	var b bytes.Buffer
	if _, err := h.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// raw returns a header of version 2 whose addresses are length zeroes.
func raw(command, family byte, length int) string {
	return "\r\n\r\n\x00\r\nQUIT\n" + string([]byte{command, family, 0, byte(length)}) + strings.Repeat("\x00", length)
}

const askWho = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

// who answers who the request and its connection are from.
func who(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	fmt.Fprintf(w, "%s via %s", host, clientip.Conn(r.Context()))
}

func TestProxyProtocol(t *testing.T) {
	v1, v2 := header(t, 1, proxyproto.PROXY), header(t, 2, proxyproto.PROXY)
	tests := map[string]struct {
		listed     string
		sent, want string // the body; empty for a request that is not answered by the handler
	}{
		"version 1":               {"127.0.0.0/8", v1 + askWho, "203.0.113.7 via 127.0.0.1"},
		"version 2":               {"127.0.0.0/8", v2 + askWho, "203.0.113.7 via 127.0.0.1"},
		"version 1 unknown":       {"127.0.0.0/8", "PROXY UNKNOWN\r\n" + askWho, "127.0.0.1 via 127.0.0.1"},
		"version 2 local":         {"127.0.0.0/8", header(t, 2, proxyproto.LOCAL) + askWho, "127.0.0.1 via 127.0.0.1"},
		"version 2 local, length": {"127.0.0.0/8", raw(0x20, 0x11, 3) + askWho, "127.0.0.1 via 127.0.0.1"},
		"version 2 none":          {"127.0.0.0/8", raw(0x21, 0x00, 0) + askWho, "127.0.0.1 via 127.0.0.1"},
		"version 2 none, TLVs":    {"127.0.0.0/8", raw(0x21, 0x00, 7) + askWho, "127.0.0.1 via 127.0.0.1"},
		"version 2 no family":     {"127.0.0.0/8", raw(0x21, 0x05, 0) + askWho, ""},
		"none, not listed":        {"192.0.2.0/24", raw(0x21, 0x00, 0) + askWho, ""},
		"missing":                 {"127.0.0.0/8", askWho, ""},
		"broken":                  {"127.0.0.0/8", "PROXY TCP4 1.2.3.4\r\n" + askWho, ""},
		"forged, version 1":       {"192.0.2.0/24", v1 + askWho, ""},
		"forged, version 2":       {"192.0.2.0/24", v2 + askWho, ""},
		"not listed, none sent":   {"192.0.2.0/24", askWho, "127.0.0.1 via invalid IP"},
		"twice, the second told":  {"127.0.0.0/8", v1 + v1 + askWho, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := loopback(t, config.Listener{ProxyProtocol: prefixes(tt.listed)})
			run(t, l, http.HandlerFunc(who), ServerOptions{})
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			checkWho(t, conn, tt.sent, tt.want)
		})
	}
}

// Less than a header is none.
func TestShortProxyProtocol(t *testing.T) {
	l := loopback(t, config.Listener{ProxyProtocol: prefixes("127.0.0.0/8")})
	run(t, l, http.HandlerFunc(who), ServerOptions{})
	for _, sent := range []string{"", "P", "PROXY TCP4", raw(0x21, 0x11, 0)[:13]} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err == nil && !strings.HasPrefix(string(got), "HTTP/1.1 400 ") && len(got) > 0 {
			t.Errorf("%q is answered by %q", sent, got)
		}
	}
}

// checkWho sends a request and expects a body, or if want is empty that the handler does not see it.
func checkWho(t *testing.T, conn net.Conn, sent, want string) {
	t.Helper()
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if want != "" {
			t.Fatal(err)
		}
		return
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if want == "" {
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d, %q", res.StatusCode, body)
		}
		return
	}
	if string(body) != want {
		t.Errorf("%q, want %q", body, want)
	}
}

// The header stands before the TLS handshake.
func TestProxyProtocolBeforeTLS(t *testing.T) {
	a := &authority{t: t, dir: t.TempDir()}
	files := a.write("h")
	l := loopback(t, config.Listener{TLS: &files, ProxyProtocol: prefixes("127.0.0.0/8")})
	run(t, l, http.HandlerFunc(who), ServerOptions{})
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, header(t, 2, proxyproto.PROXY)); err != nil {
		t.Fatal(err)
	}
	checkWho(t, tls.Client(conn, insecure()), askWho, "203.0.113.7 via 127.0.0.1")
}

// One end of a tunnel may have said all, and the other not, also behind a proxy.
func TestHalfOfATunnelIsClosed(t *testing.T) {
	l := loopback(t, config.Listener{ProxyProtocol: prefixes("127.0.0.0/8")})
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := io.WriteString(client, header(t, 2, proxyproto.PROXY)); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	half := (&tunnels{idle: time.Minute}).add(conn, time.Minute, func() {}).(*tunnel)
	defer half.Close()
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(client); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v; want the end", rest, err)
	}
	if _, err := io.WriteString(client, "more"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.LimitReader(half, 4)); err != nil || string(got) != "more" {
		t.Errorf("%q, %v; the other half is closed too", got, err)
	}
}
