package bpf_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// Extension headers, however many, hide nobody.
func TestCase02ExtensionHeadersDoNotHideTheSource(t *testing.T) {
	chain := func(n int) []byte {
		headers := slices.Repeat([]packet.Layer{packet.DestOptions{}}, n)
		layers := slices.Concat([]packet.Layer{packet.Ethernet{}, packet.IPv6{}}, headers,
			[]packet.Layer{packet.UDP{Dst: 53}, packet.Zeros(10)})
		return packet.Build(layers...)
	}
	mixed := packet.Build(packet.Ethernet{}, packet.IPv6{}, packet.HopByHop{}, packet.DestOptions{},
		packet.Fragment{}, packet.UDP{Dst: 53}, packet.Zeros(10))

	lab := newLab(t)
	lab.SetDefault(progtest.Packets("5pps", 5))
	wantRuns(t, lab, underLimit, chain(0), mixed, chain(8), chain(9), chain(10))
	wantRuns(t, lab, overPackets, chain(0), mixed, chain(8), chain(9), chain(10), chain(100))
	wantSources(t, lab, "2001:db8::")
}

// Eight headers are walked; behind more of them, a policy for ports does not find any.
func TestCase02PortsBehindExtensionHeaders(t *testing.T) {
	all := []packet.Layer{
		packet.HopByHop{Options: []byte{1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		packet.DestOptions{}, packet.Routing{Data: make([]byte, 20)}, packet.AuthHeader{ICV: make([]byte, 12)},
		packet.Fragment{}, packet.DestOptions{}, packet.DestOptions{}, packet.DestOptions{},
		packet.DestOptions{},
	}
	for n := range len(all) + 1 {
		t.Run(fmt.Sprintf("%d headers", n), func(t *testing.T) {
			layers := slices.Concat([]packet.Layer{packet.Ethernet{}, packet.IPv6{}}, all[:n],
				[]packet.Layer{packet.UDP{Dst: 53}})
			want := underLimit
			if n > 8 {
				want = noPolicy
			}
			wantRuns(t, dnsLab(t), want, packet.Build(layers...))
		})
	}
}

func dnsLab(t *testing.T) *progtest.Lab {
	t.Helper()
	lab := newLab(t)
	policy := udpPort("dns", 53)
	policy.Limit = progtest.Packets("1kpps", 1000)
	lab.SetPolicy(policy)
	return lab
}

// A source in IPv6 is its /64.
func TestCase03AddressesOfOnePrefixAreOneSource(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("10pps", 10))
	var frames [][]byte
	for i := range 100 {
		frames = append(frames, udp(fmt.Sprintf("2001:db8:1:2:%x::%x", i*77, i)))
	}
	wantCounts(t, lab.RunAll(frames...), counts(100, map[progtest.Outcome]int{underLimit: 10, overPackets: 90}))
	wantRuns(t, lab, underLimit, udp("2001:db8:1:3::1"), udp("2001:db8:1:1:ffff::"))
	wantSources(t, lab, "2001:db8:1:2::", "2001:db8:1:3::", "2001:db8:1:1::")
}

func TestPrefixLengths(t *testing.T) {
	tests := []struct {
		name         string
		four, six    int
		same, others string
		source       string
	}{
		{"whole IPv4 address", 32, 64, alice, bob, alice},
		{"IPv4 /24", 24, 64, "203.0.113.200", "203.0.114.1", "203.0.113.0"},
		{"IPv4 /25", 25, 64, "203.0.113.127", "203.0.113.128", "203.0.113.0"},
		{"IPv4 /0", 0, 64, "8.8.8.8", "", "0.0.0.0"},
		{"whole IPv6 address", 32, 128, "2001:db8::1", "2001:db8::2", "2001:db8::1"},
		{"IPv6 /48", 32, 48, "2001:db8:0:ffff::1", "2001:db8:1::1", "2001:db8::"},
		{"IPv6 /65", 32, 65, "2001:db8::7fff:0:0:1", "2001:db8::8000:0:0:1", "2001:db8::"},
		{"IPv6 /0", 32, 0, "ff00::1", "", "::"},
		// Neighbours have one prefix, and are not one source.
		{"link-local", 32, 64, "fe80::1", "fe80::2", "fe80::1"},
		{"invalid link-local", 32, 64, "fe80:1::1", "fe80::1", "fe80:1::"},
		{"also invalid", 32, 64, "febf:ffff::1", "fe80::1", "febf:ffff::"},
		{"link-local, whole IPv6 address", 32, 128, "fe80::1", "fe80::2", "fe80::1"},
		{"after link-local", 32, 64, "fec0::1", "fec0:0:0:1::", "fec0::"},
		{"IPv4-mapped", 32, 64, "::ffff:203.0.113.1", bob, alice},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			need.Root(t)
			lab := progtest.New(t, progtest.Options{LongKeys: tt.six > 64})
			lab.Configure(func(c *policymap.Config) { c.IPv4Prefix, c.IPv6Prefix = tt.four, tt.six })
			lab.SetDefault(progtest.Packets("1pps", 1))
			wantRuns(t, lab, underLimit, udp6(tt.same))
			wantSources(t, lab, tt.source)
			wantRuns(t, lab, overPackets, udp6(tt.same), udp6(tt.source))
			if tt.others != "" {
				wantRuns(t, lab, underLimit, udp6(tt.others))
			}
		})
	}
}

// udp6 is udp with IPv4-mapped addresses in IPv6.
func udp6(src string) []byte {
	if netip.MustParseAddr(src).Is4In6() {
		return packet.UDPFrame(src, dst6, 53, 52)
	}
	return udp(src)
}

// ::ffff:a.b.c.d is a.b.c.d, and its neighbours are not.
func TestMappedAddressIsTheIPv4Source(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("2pps", 2))
	wantRuns(t, lab, underLimit, udp(alice), udp6("::ffff:"+alice))
	wantRuns(t, lab, overPackets, udp(alice), udp6("::ffff:"+alice))
	wantRuns(t, lab, underLimit, udp6("::fffe:cb00:7101"), udp6("::1:ffff:cb00:7101"))
	wantSources(t, lab, alice, "::", "::")
}

// A later fragment has data where ports would be.
func TestCase04LaterFragmentMatchesNoPort(t *testing.T) {
	looksLikePorts := packet.Payload{0x9c, 0x40, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x02}
	tcp := new(uint8(6))
	v4 := func(offset uint16, more bool) []byte {
		return packet.Build(packet.Ethernet{},
			packet.IPv4{FragOff: offset, MoreFragments: more, Proto: tcp}, looksLikePorts)
	}
	v6 := func(offset uint16, more bool) []byte {
		return packet.Build(packet.Ethernet{}, packet.IPv6{},
			packet.Fragment{Offset: offset, More: more, NextHeader: tcp}, looksLikePorts)
	}
	tests := []struct {
		name        string
		frame       []byte
		web, anyTCP bool
	}{
		{"IPv4 offset 185", v4(185, true), false, true},
		{"IPv4 last fragment", v4(185, false), false, true},
		{"IPv4 offset 1", v4(1, false), false, true},
		{"IPv4 largest offset", v4(8191, false), false, true},
		{"IPv4 first fragment", v4(0, true), true, true},
		{"IPv4 whole", v4(0, false), true, true},
		{"IPv6 offset 185", v6(185, true), false, true},
		{"IPv6 offset 1", v6(1, false), false, true},
		{"IPv6 largest offset", v6(8191, false), false, true},
		{"IPv6 first fragment", v6(0, true), true, true},
		{"IPv6 atomic fragment", v6(0, false), true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := newLab(t)
			setScopes(lab)
			wantRuns(t, lab, underLimit, tt.frame)
			wantMatches(t, lab, map[string]bool{"web": tt.web, "syn": tt.web, "tcp": tt.anyTCP, "default": true})
		})
	}
}

// setScopes sets policies of which each matches less than the next.
func setScopes(lab *progtest.Lab) {
	limit := progtest.Packets("1kpps", 1000)
	web, syn, tcp := tcpPort("web", 80), tcpPort("syn", 80), tcpPort("tcp", 0)
	web.Limit, syn.Limit, tcp.Limit = limit, limit, limit
	syn.SYN = true
	tcp.Ports = policymap.Ports{}
	lab.SetPolicy(web, syn, tcp, policymap.Policy{Name: policymap.Default, Limit: limit})
}

// wantMatches compares which policies counted the one packet that there was.
func wantMatches(tb testing.TB, lab *progtest.Lab, want map[string]bool) {
	tb.Helper()
	for name, matches := range want {
		if got := lab.Counted(name).Pass.Packets == 1; got != matches {
			tb.Errorf("policy %s: matches %v, want %v", name, got, matches)
		}
	}
}

// A first fragment need not hold the whole header, or any of it.
func TestFirstFragmentTooShortForItsHeader(t *testing.T) {
	syn := packet.TCPFrame(alice, dst4, 80, packet.SYN)[34:]
	tests := []struct {
		name     string
		bytes    int
		web, syn bool
	}{
		{"nothing", 0, false, false},
		{"half a port", 1, false, false},
		{"source port and half", 3, false, false},
		// Cut before the flags it may open a connection.
		{"ports", 4, true, true},
		{"up to the flags", 13, true, true},
		{"with the flags", 14, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := newLab(t)
			setScopes(lab)
			frame := packet.Build(packet.Ethernet{},
				packet.IPv4{MoreFragments: true, Proto: new(uint8(6))}, packet.Payload(syn[:tt.bytes]))
			// Padding is not part of the packet, whatever it holds.
			padded := append(slices.Clone(frame), syn[tt.bytes:]...)
			wantRuns(t, lab, underLimit, padded)
			wantMatches(t, lab, map[string]bool{"web": tt.web, "syn": tt.syn, "tcp": true, "default": true})
		})
	}
}

// A SYN in two fragments, cut before the flags, is under the limit of SYNs as a whole one is.
func TestFragmentedSYNIsASYN(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(policymap.Policy{Name: "syn", SYN: true, Limit: progtest.Packets("1pps", 1)})
	syn := packet.TCPFrame(alice, dst4, 80, packet.SYN)
	first := packet.Build(packet.Ethernet{},
		packet.IPv4{Src: netip.MustParseAddr(alice), MoreFragments: true, Proto: new(uint8(6))}, packet.Payload(syn[34:42]))
	wantRuns(t, lab, underLimit, syn)
	wantRuns(t, lab, overPackets, syn, first)
}

// Ports stand behind the options.
func TestCase05PortsBehindIPv4Options(t *testing.T) {
	for words := range 11 {
		t.Run(fmt.Sprintf("ihl %d", 5+words), func(t *testing.T) {
			lab := newLab(t)
			dns, decoy := udpPort("dns", 53), udpPort("decoy", 0x0101)
			dns.Limit, decoy.Limit = progtest.Packets("1kpps", 1000), progtest.Packets("1kpps", 1000)
			lab.SetPolicy(dns, decoy)
			// Options that look like ports.
			options := slices.Repeat([]byte{1}, 4*words)
			frame := packet.Build(packet.Ethernet{}, packet.IPv4{Options: options}, packet.UDP{Dst: 53})
			wantRuns(t, lab, underLimit, frame)
			wantMatches(t, lab, map[string]bool{"dns": true, "decoy": false})
		})
	}
}
