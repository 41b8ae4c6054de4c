//go:build linux

package netlab_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
)

// TestStackTakesUDP checks, with a socket, that the kernel finds nothing wrong
// with the frames of test/packet.
func TestStackTakesUDP(t *testing.T) {
	pair := addressed(t)
	s := netlabtest.Sender(t, pair.Near)
	for _, tt := range []struct{ name, src, dst string }{
		{"IPv4", "192.0.2.1", "192.0.2.2"}, {"IPv6", "2001:db8::1", "2001:db8::2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			socket := listenUDP(t, pair.Far, tt.dst)
			frame := packet.Build(
				packet.Ethernet{Src: pair.Near.MAC, Dst: pair.Far.MAC}, ipLayer(tt.src, tt.dst),
				packet.UDP{Src: 40000, Dst: socket.LocalAddr().(*net.UDPAddr).AddrPort().Port()}, packet.Payload("odd"))
			if err := s.Send(frame); err != nil {
				t.Fatal(err)
			}
			buffer := make([]byte, 10)
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(buffer[:n]), "odd"; got != want {
				t.Errorf("received %q, want %q", got, want)
			}
			if want := net.JoinHostPort(tt.src, "40000"); from.String() != want {
				t.Errorf("from %v, want %s", from, want)
			}
		})
	}
}

func listenUDP(t *testing.T, end *netlab.End, host string) (socket net.PacketConn) {
	t.Helper()
	err := end.Namespace.Do(func() (err error) {
		socket, err = net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(netlab.WaitLimit)); err != nil {
		t.Fatal(err)
	}
	return socket
}

func ipLayer(src, dst string) packet.Layer {
	from, to := netip.MustParseAddr(src), netip.MustParseAddr(dst)
	if from.Is4() {
		return packet.IPv4{Src: from, Dst: to}
	}
	return packet.IPv6{Src: from, Dst: to}
}

// TestStackAnswers sends a packet that the kernel answers only if it has
// nothing wrong with it, and a mark behind it, and counts the answers.
func TestStackAnswers(t *testing.T) {
	pair := addressed(t)
	s := netlabtest.Sender(t, pair.Near)
	there := netlabtest.Counter(t, pair.Far, packet.Source)
	answers := netlabtest.Counter(t, pair.Near, transportStart)
	back := netlabtest.Sender(t, pair.Far)
	echo := uint32(0x00010001)
	tests := []struct {
		name     string
		src, dst string
		upper    packet.Layer
		want     answer
	}{
		{"ping", "192.0.2.1", "192.0.2.2", packet.ICMP{Type: 8, Rest: echo}, answer{1, 0}},
		{"IPv6 ping", "2001:db8::1", "2001:db8::2", packet.ICMPv6{Type: 128, Rest: echo}, answer{58, 129}},
		{"TCP to a closed port", "192.0.2.1", "192.0.2.2", packet.TCP{Src: 0x1234, Dst: 0x5678, Flags: packet.SYN}, answer{6, 0x56}},
		{"IPv6 TCP to a closed port", "2001:db8::1", "2001:db8::2", packet.TCP{Src: 0x1234, Dst: 0x5678, Flags: packet.SYN}, answer{6, 0x56}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := packet.Build(packet.Ethernet{Src: pair.Near.MAC, Dst: pair.Far.MAC}, ipLayer(tt.src, tt.dst), tt.upper, packet.Zeros(8))
			netlabtest.Exchange(t, s, there, frame)
			got := netlabtest.Exchange(t, back, answers)
			if len(got) != 1 || got[tt.want].Packets != 1 {
				t.Errorf("answers %v, want one of %v", got, tt.want)
			}
		})
	}
}

// answer is the protocol of a packet and the first byte behind its IP header.
type answer struct {
	proto, first byte
}

func transportStart(frame []byte) (answer, bool) {
	l, ok := packet.Locate(frame)
	if !ok || l.Transport >= len(frame) {
		return answer{}, false
	}
	return answer{l.Proto, frame[l.Transport]}, true
}

// TestSockets checks that ordinary sockets in two namespaces reach each other,
// although neighbour resolution is off.
func TestSockets(t *testing.T) {
	pair := addressed(t)
	for _, host := range []string{"192.0.2.2", "2001:db8::2"} {
		t.Run(host, func(t *testing.T) {
			var listener net.Listener
			err := pair.Far.Namespace.Do(func() (err error) {
				listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go greet(listener)
			if got := dial(t, pair.Near, listener.Addr()); got != "hello" {
				t.Errorf("received %q, want hello", got)
			}
		})
	}
}

func greet(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return // the test has ended
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "hello") // a caller that is gone says so itself
}

// dial connects from the end's namespace. A Dialer without a second address to
// try dials on the calling goroutine, so that its socket is in the namespace.
func dial(t *testing.T, end *netlab.End, to net.Addr) string {
	t.Helper()
	var conn net.Conn
	err := end.Namespace.Do(func() (err error) {
		conn, err = net.DialTimeout("tcp", to.String(), netlab.WaitLimit)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
