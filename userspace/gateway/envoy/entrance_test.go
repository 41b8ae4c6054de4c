package envoy

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Strangers keep few connections, so that they cannot take all files; gateways as many as they like.
func TestStrangersHaveFewConnections(t *testing.T) {
	for _, mayAsk := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c := serveOn(t, NewServer(rulesOf(t, oneAMinute), quietly(func(o *Options) {
			if !mayAsk {
				o.Gateways = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			}
		})), l, l.Addr().String())
		var conns []net.Conn
		for range mostStrangers {
			conns = append(conns, greeted(t, l.Addr().String(), true))
		}
		conns = append(conns, greeted(t, l.Addr().String(), mayAsk))
		for _, conn := range conns[1:] {
			conn.Close()
		}
		// The server notices that they are closed when it likes.
		if _, err := healthv1.NewHealthClient(c.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Errorf("may ask %t, when there is room again: %v", mayAsk, err)
		}
		conns[0].Close()
	}
}

// greeted connects, and fails unless the server says something, as gRPC's does, or if it is not to, closes.
func greeted(t *testing.T, addr string, want bool) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil && want {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); (n == 1) != want {
		t.Errorf("greeted %t (%v), want %t", n == 1, err, want)
	}
	return conn
}
