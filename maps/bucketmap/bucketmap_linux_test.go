package bucketmap_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
)

// newMaps makes the maps without the program.
func newMaps(t *testing.T, capacity uint32) (buckets, shared, losses *ebpf.Map) {
	t.Helper()
	need.Root(t)
	spec, err := bpf.Load()
	if err != nil {
		t.Fatal(err)
	}
	spec.Maps[bpf.MapBuckets].MaxEntries = capacity
	made := func(name string) *ebpf.Map {
		m, err := ebpf.NewMap(spec.Maps[name])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	return made(bpf.MapBuckets), made(bpf.MapSharedBuckets), made(bpf.MapLosses)
}

// key returns the bucket of the nth source of a policy.
func key(policy uint16, n int) bpf.BucketKey {
	addr := netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
	words, family := wire.Addr(addr)
	return bpf.BucketKey{Addr: words, Policy: uint32(family)<<bpf.PolicyIDBits | uint32(policy)}
}

// fill puts in n sources of a policy, each with its number as its count.
func fill(t *testing.T, buckets *ebpf.Map, policy uint16, n int) {
	t.Helper()
	keys, values := make([]bpf.BucketKey, n), make([]bpf.Bucket, n)
	for i := range n {
		keys[i] = key(policy, i)
		values[i] = bpf.Bucket{Pass: bpf.Counter{Packets: uint64(i), Bytes: 100 * uint64(i)}}
	}
	if _, err := buckets.BatchUpdate(keys, values, nil); err != nil {
		t.Fatal(err)
	}
}

// A dump of a large map, beside a writer, has every source that was there all the time, once.
func TestCase23DumpWhileInserting(t *testing.T) {
	const stable = 200_000
	buckets, shared, losses := newMaps(t, 1<<19)
	fill(t, buckets, 1, stable)
	m := bucketmap.New(buckets, shared, losses)

	stop, done := make(chan struct{}), make(chan error)
	go func() { done <- churn(buckets, stop) }()
	for range 3 {
		list, err := m.List()
		if err != nil {
			t.Fatal(err)
		}
		wantStable(t, list, stable)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// churn adds and removes sources of another policy until it is told to stop.
func churn(buckets *ebpf.Map, stop <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		// Always 1000 of them: more would make the kernel evict others.
		k := key(2, i%1000)
		if err := buckets.Put(&k, &bpf.Bucket{}); err != nil {
			return err
		}
		k = key(2, (i+500)%1000)
		if err := buckets.Delete(&k); err != nil && i >= 500 {
			return err
		}
	}
}

func wantStable(t *testing.T, list []bucketmap.Source, n int) {
	t.Helper()
	seen := make(map[netip.Addr]bool, n)
	for _, s := range list {
		if s.PolicyID != 1 {
			continue
		}
		bytes := s.Addr.As4()
		i := uint64(bytes[1])<<16 | uint64(bytes[2])<<8 | uint64(bytes[3])
		if s.Pass != (statmap.Counter{Packets: i, Bytes: 100 * i}) || seen[s.Addr] {
			t.Fatalf("source %+v is wrong or comes twice", s)
		}
		seen[s.Addr] = true
	}
	if len(seen) != n {
		t.Errorf("%d sources, want %d", len(seen), n)
	}
}

// Chunks that are too small for a hash chain grow, and nothing is read twice.
func TestCase23SmallChunksGrow(t *testing.T) {
	const n = 20_000
	buckets, shared, losses := newMaps(t, n)
	fill(t, buckets, 1, n/2)
	m := bucketmap.New(buckets, shared, losses)
	keys, values := make([]bpf.BucketKey, 1), make([]bpf.Bucket, 1)
	var cursor ebpf.MapBatchCursor
	var err error
	for err == nil {
		_, err = buckets.BatchLookup(&cursor, keys, values, nil)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("chunks of one give %v: no two sources have one hash, and this test proves nothing", err)
	}
	all, read, err := m.Entries(1)
	if err != nil || len(all) != n/2 || read != n/2 {
		t.Errorf("%d entries of %d sources, %v; want %d", read, len(all), err, n/2)
	}
}

func TestEmptyMap(t *testing.T) {
	m := bucketmap.New(newMaps(t, 100))
	list, err := m.List()
	if n, errCount := m.Count(); err != nil || errCount != nil || len(list) != 0 || n != 0 {
		t.Errorf("list %v, %v; count %d, %v; want none", list, err, n, errCount)
	}
	if m.Capacity() != 100 {
		t.Errorf("capacity %d, want 100", m.Capacity())
	}
}

// What passed is the sum of both places, and what was lost of all CPUs that have this number.
func TestSourceIsTheSumOfItsParts(t *testing.T) {
	buckets, shared, losses := newMaps(t, 100)
	k := key(7, 1)
	bucket := bpf.Bucket{Pass: bpf.Counter{Packets: 1 << 40, Bytes: 1 << 50}, Recent: 1500<<bpf.RecentBits | 3, Loss: bpf.LossSlots + 5}
	if err := buckets.Put(&k, &bucket); err != nil {
		t.Fatal(err)
	}
	cpus := make([]bpf.Loss, ebpf.MustPossibleCPU())
	for i := range cpus {
		cpus[i] = bpf.Loss{Number: bpf.LossSlots + 5, Drop: bpf.Counter{Packets: 10, Bytes: 20}, WouldDrop: bpf.Counter{Packets: 1, Bytes: 2}}
	}
	cpus[0].Number = 5 // another source's, from before
	if err := losses.Put(uint32(5), cpus); err != nil {
		t.Fatal(err)
	}
	n := uint64(len(cpus) - 1)
	want := bucketmap.Source{
		Addr: netip.MustParseAddr("10.0.0.1"), PolicyID: 7,
		Pass:      statmap.Counter{Packets: 1<<40 + 3 + n, Bytes: 1<<50 + 1500 + 2*n},
		Drop:      statmap.Counter{Packets: 10 * n, Bytes: 20 * n},
		WouldDrop: statmap.Counter{Packets: n, Bytes: 2 * n},
	}
	list, err := bucketmap.New(buckets, shared, losses).List()
	if err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("%+v, %v; want %+v", list, err, want)
	}
}
