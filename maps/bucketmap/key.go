package bucketmap

import (
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// shortPrefix is the longest IPv6 prefix that a map with short keys can tell apart.
const shortPrefix = 64

// SetKeys gives the map the shortest keys that can hold sources of this IPv6 prefix length: the
// hash of a short one costs less, at every packet. It is called before the map is made.
func SetKeys(spec *ebpf.MapSpec, ipv6Prefix int) {
	if ipv6Prefix <= shortPrefix {
		useShortKeys(spec)
	}
}

// MatchKeys gives spec the keys that an existing map has.
func MatchKeys(spec *ebpf.MapSpec, m *ebpf.Map) {
	if m.KeySize() == bpf.BucketKeyShort {
		useShortKeys(spec)
	}
}

func useShortKeys(spec *ebpf.MapSpec) {
	spec.KeySize = bpf.BucketKeyShort
	spec.Key = nil // the type is that of the long ones
}

// shortKey is the first BucketKeyShort bytes of a bpf.BucketKey.
type shortKey struct {
	Policy uint32
	Addr   [2]uint32
}

func (k shortKey) whole() bpf.BucketKey {
	return bpf.BucketKey{Policy: k.Policy, Addr: [4]uint32{k.Addr[0], k.Addr[1]}}
}

func (m *Map) short() bool { return m.buckets.KeySize() == bpf.BucketKeyShort }

// MaxIPv6Prefix returns the longest IPv6 prefix that the map can tell apart.
func (m *Map) MaxIPv6Prefix() int {
	if m.short() {
		return shortPrefix
	}
	return 128
}

func (m *Map) lookup(key bpf.BucketKey, b *bpf.Bucket) error {
	if m.short() {
		return m.buckets.Lookup(shortKey{key.Policy, [2]uint32(key.Addr[:2])}, b)
	}
	return m.buckets.Lookup(&key, b)
}

// linkLocal is what all link-local addresses begin with, as words of an address.
var linkLocal = func() [2]uint32 {
	words, _ := wire.Addr(netip.MustParseAddr("fe80::"))
	return [2]uint32(words[:2])
}()

func addr(key bpf.BucketKey) netip.Addr {
	family := uint8(key.Policy >> bpf.PolicyIDBits)
	if family == uint8(bpf.FamilyLinkLocal) {
		words := [4]uint32{linkLocal[0], linkLocal[1], key.Addr[0], key.Addr[1]}
		return wire.ToAddr(words, uint8(bpf.FamilyIPv6))
	}
	return wire.ToAddr(key.Addr, family)
}
