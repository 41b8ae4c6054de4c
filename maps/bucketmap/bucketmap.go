// Package bucketmap reads what each source passed and lost. Reading does not touch the kernel's
// idea of which bucket was used last.
package bucketmap

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/statmap"
)

// chunk is how many entries one system call reads at first.
const chunk = 16384

// Source is what one policy counted of one source.
type Source struct {
	Addr      netip.Addr // cut to its prefix
	PolicyID  uint16
	Pass      statmap.Counter // WouldDrop included
	Drop      statmap.Counter
	WouldDrop statmap.Counter
}

// Lost returns how many packets of the source were dropped, or would have been in dry run.
func (s Source) Lost() uint64 { return s.Drop.Packets + s.WouldDrop.Packets }

// CompareKeys orders sources by address and policy.
func CompareKeys(a, b Source) int {
	return cmp.Or(a.Addr.Compare(b.Addr), cmp.Compare(a.PolicyID, b.PolicyID))
}

// CompareLost orders sources: the one that lost most first, and of those that lost as much the one that passed most.
func CompareLost(a, b Source) int {
	return cmp.Or(
		cmp.Compare(b.Lost(), a.Lost()), cmp.Compare(b.Pass.Packets, a.Pass.Packets), CompareKeys(a, b),
	)
}

// Map is the buckets and losses of one instance. It is safe for concurrent use.
type Map struct {
	buckets, shared, losses *ebpf.Map
}

// New returns a view of the maps, which stay the caller's.
func New(buckets, shared, losses *ebpf.Map) *Map {
	return &Map{buckets: buckets, shared: shared, losses: losses}
}

// List returns all sources with a bucket, in no order. What a source lost is kept until 65,536
// other sources have lost something after its first loss.
func (m *Map) List() ([]Source, error) {
	losses, err := m.readLosses()
	if err != nil {
		return nil, err
	}
	var sources []Source
	err = m.each(func(key bpf.BucketKey, bucket bpf.Bucket) error {
		pass, err := m.pass(key, bucket)
		if err != nil {
			return err
		}
		source := Source{
			Addr:     addr(key),
			PolicyID: uint16(key.Policy),
			Pass:     pass,
		}
		losses.addTo(&source, bucket.Loss)
		source.Pass.Add(source.WouldDrop)
		sources = append(sources, source)
		return nil
	})
	return sources, err
}

// Count returns how many buckets there are. It reads all of them.
func (m *Map) Count() (int, error) {
	n := 0
	err := m.entries(chunk, func() { n = 0 }, func(bpf.BucketKey, *bpf.Bucket) { n++ })
	if err != nil {
		return 0, fmt.Errorf("count buckets: %w", err)
	}
	return n, nil
}

// Capacity returns how many buckets there can be.
func (m *Map) Capacity() int { return int(m.buckets.MaxEntries()) }

// ResetShared empties the shared bucket of a policy slot, so that a new policy there owes nothing.
func (m *Map) ResetShared(slot int) error {
	if err := m.shared.Put(uint32(slot), &bpf.Bucket{}); err != nil {
		return fmt.Errorf("reset shared bucket %d: %w", slot, err)
	}
	return nil
}

// each visits every bucket once, as long as nothing changes; buckets that come or go meanwhile
// may be seen or not.
func (m *Map) each(visit func(bpf.BucketKey, bpf.Bucket) error) error {
	var all []entry
	err := m.entries(chunk, func() { all = nil }, func(key bpf.BucketKey, b *bpf.Bucket) { all = append(all, entry{key, *b}) })
	if err != nil {
		return fmt.Errorf("list buckets: %w", err)
	}
	for _, e := range all {
		if err := visit(e.key, e.bucket); err != nil {
			return err
		}
	}
	return nil
}

// entries reads all in chunks of size. A hash chain that does not fit a chunk makes the kernel
// answer ENOSPC; then all is read again in larger chunks, after begin is called again.
func (m *Map) entries(size int, begin func(), take func(bpf.BucketKey, *bpf.Bucket)) error {
	for ; ; size *= 2 {
		begin()
		err := m.read(size, take)
		if errors.Is(err, syscall.ENOSPC) && size < m.Capacity() {
			continue
		}
		return err
	}
}

type entry struct {
	key    bpf.BucketKey
	bucket bpf.Bucket
}

func (m *Map) read(size int, take func(bpf.BucketKey, *bpf.Bucket)) error {
	if m.short() {
		return readAs(m.buckets, size, func(k shortKey, b *bpf.Bucket) { take(k.whole(), b) })
	}
	return readAs(m.buckets, size, take)
}

// readAs reads all entries of a map with keys of type K.
func readAs[K any](buckets *ebpf.Map, size int, take func(K, *bpf.Bucket)) error {
	var cursor ebpf.MapBatchCursor
	keys, values := make([]K, size), make([]bpf.Bucket, size)
	for {
		n, err := buckets.BatchLookup(&cursor, keys, values, nil)
		last := errors.Is(err, ebpf.ErrKeyNotExist)
		if err != nil && !last {
			return err
		}
		for i := range n {
			take(keys[i], &values[i])
		}
		if last {
			return nil
		}
	}
}

const (
	recentMask = 1<<bpf.RecentBits - 1

	// justMoved is how few packets a bucket has in its first place soon after a move.
	justMoved = 4096

	// pauses bounds the wait for a CPU that was stopped in the middle of a move.
	pauses = 100
)

// passed adds up the two places of what a bucket has passed.
func passed(b *bpf.Bucket) statmap.Counter {
	total := statmap.Of(b.Pass)
	total.Add(statmap.Counter{Packets: b.Recent & recentMask, Bytes: b.Recent >> bpf.RecentBits})
	return total
}

func moving(b *bpf.Bucket) bool { return b.Recent&recentMask >= bpf.RecentFull }

// pass returns what a bucket has passed. A CPU may be moving it from the one place to the other: it
// is in both for a moment, and a copy that was made meanwhile may have it in neither. So where a move
// is going on or was just over, the bucket is read until two copies agree.
func (m *Map) pass(key bpf.BucketKey, b bpf.Bucket) (statmap.Counter, error) {
	for range pauses {
		if !moving(&b) && (b.Pass.Packets == 0 || b.Recent&recentMask >= justMoved) {
			break
		}
		var again bpf.Bucket
		err := m.lookup(key, &again)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			break
		}
		if err != nil {
			return statmap.Counter{}, fmt.Errorf("read a bucket again: %w", err)
		}
		agree := again.Pass == b.Pass && !moving(&again)
		b = again
		if agree {
			break
		}
		time.Sleep(time.Microsecond)
	}
	return passed(&b), nil
}
