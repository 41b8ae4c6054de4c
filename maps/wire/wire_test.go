package wire_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

func addrs() *rapid.Generator[netip.Addr] {
	bytes := func(n int) *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), n, n) }
	return rapid.OneOf(
		rapid.Map(bytes(4), func(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) }),
		rapid.Map(bytes(16), func(b []byte) netip.Addr { return netip.AddrFrom16([16]byte(b)) }),
		rapid.Map(bytes(4), func(b []byte) netip.Addr {
			return netip.AddrFrom16(netip.AddrFrom4([4]byte(b)).As16())
		}),
	)
}

func TestAddrRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addr := addrs().Draw(t, "addr")
		if got := wire.ToAddr(wire.Addr(addr)); got != addr.Unmap() {
			t.Fatalf("%v becomes %v", addr, got)
		}
	})
}

func TestNoAddr(t *testing.T) {
	if got := wire.ToAddr([4]uint32{}, 0); got.IsValid() {
		t.Errorf("no family gives %v, want the zero Addr", got)
	}
}

// A mask keeps of an address what its prefix keeps.
func TestMask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addr := addrs().Draw(t, "addr").Unmap()
		bits := rapid.IntRange(0, addr.BitLen()).Draw(t, "bits")
		words, family := wire.Addr(addr)
		for i, mask := range wire.Mask(bits) {
			words[i] &= mask
		}
		if got, want := wire.ToAddr(words, family), netip.PrefixFrom(addr, bits).Masked().Addr(); got != want {
			t.Fatalf("%v/%d: %v, want %v", addr, bits, got, want)
		}
	})
}

func TestPortRoundTrip(t *testing.T) {
	for port := range uint16(65535) {
		if got := wire.Port(wire.Port(port)); got != port {
			t.Fatalf("port %d becomes %d", port, got)
		}
	}
}

func TestPrefix(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"10.1.2.3/8", "10.0.0.0/8"},
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"::/0", "::/0"},
		{"2001:db8::1/64", "2001:db8::/64"},
		{"::ffff:10.1.2.3/128", "10.1.2.3/32"},
		{"::ffff:10.1.2.3/104", "10.0.0.0/8"},
		{"::ffff:10.1.2.3/96", "0.0.0.0/0"},
		// Shorter ones hold more than IPv4.
		{"::ffff:10.1.2.3/95", "::fffe:0:0/95"},
		{"::ffff:10.1.2.3/0", "::/0"},
	} {
		if got := wire.Prefix(netip.MustParsePrefix(tt.in)); got.String() != tt.want {
			t.Errorf("%s becomes %v, want %s", tt.in, got, tt.want)
		}
	}
}

// limits draws limits in packets, in bytes and in both, that people could have written.
func limits() *rapid.Generator[wire.Limit] {
	return rapid.Custom(func(t *rapid.T) wire.Limit {
		var l wire.Limit
		kind := rapid.IntRange(1, 3).Draw(t, "dimensions")
		if kind&1 != 0 {
			l.Packets = drawQuota(t, rate.ParsePackets, "1pph", "1pps", "7ppm", "999pps", "2.5Mpps", "100Mpps")
		}
		if kind&2 != 0 {
			l.Bytes = drawQuota(t, rate.ParseBandwidth, "8bit/s", "64KiB/s", "12MB/s", "7Gbit/s", "400Gbit/s")
		}
		return l
	})
}

func drawQuota(t *rapid.T, parse func(string) (rate.Rate, error), rates ...string) wire.Quota {
	r, err := parse(rapid.SampledFrom(rates).Draw(t, "rate"))
	if err != nil {
		t.Fatal(err)
	}
	return wire.Quota{Rate: r, Burst: rapid.Uint64Range(1, 1<<20).Draw(t, "burst")}
}

func TestLimitRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := limits().Draw(t, "limit")
		encoded, rates, err := wire.EncodeLimit(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, wire.DecodeLimit(encoded, rates)); diff != "" {
			t.Fatalf("limit (-want +got):\n%s", diff)
		}
	})
}

// The fingerprint holds the shifts, differs where the numbers do, and is none of the two values
// that mean something else.
func TestFingerprint(t *testing.T) {
	seen := make(map[uint64]limit.Limit)
	rapid.Check(t, func(t *rapid.T) {
		l, err := limits().Draw(t, "limit").Compile()
		if err != nil {
			t.Fatal(err)
		}
		got := wire.Fingerprint(l)
		const mask = 1<<bpf.ShiftBits - 1
		if got&mask != uint64(l.Packets.Shift) || got>>bpf.ShiftBits&mask != uint64(l.Bytes.Shift) {
			t.Fatalf("%x does not hold the shifts of %+v", got, l)
		}
		if got == 0 || got == ^uint64(0) {
			t.Fatalf("%x is not for a limit", got)
		}
		if other, ok := seen[got]; ok && other != l {
			t.Fatalf("%+v and %+v have one fingerprint", l, other)
		}
		seen[got] = l
	})
}

func TestLimitErrorsNameTheDimension(t *testing.T) {
	pps, err := rate.ParsePackets("10pps")
	if err != nil {
		t.Fatal(err)
	}
	bps, err := rate.ParseBandwidth("1B/s")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		limit wire.Limit
		want  string
	}{
		{wire.Limit{Packets: wire.Quota{Rate: pps}}, "packet limit: burst 0 at 10pps: would let nothing pass; use at least 1"},
		{wire.Limit{Packets: wire.Quota{Rate: pps, Burst: 1}, Bytes: wire.Quota{Rate: bps}},
			"bandwidth limit: burst 0 at 8bit/s: would let nothing pass; use at least 1"},
	} {
		if _, _, err := wire.EncodeLimit(tt.limit); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

func TestLimitString(t *testing.T) {
	quota := func(count uint64, unit rate.Unit, burst uint64) wire.Quota {
		return wire.Quota{Rate: rate.Rate{Count: count, Per: time.Second, Unit: unit}, Burst: burst}
	}
	packets, bytes := quota(1000, rate.Packets, 100), quota(1_000_000, rate.Bytes, 64<<10)
	for want, l := range map[string]wire.Limit{
		"no limit":             {},
		"1kpps, burst 100":     {Packets: packets},
		"8Mbit/s, burst 64KiB": {Bytes: bytes},
		"1kpps, burst 100 and 8Mbit/s, burst 64KiB": {Packets: packets, Bytes: bytes},
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
