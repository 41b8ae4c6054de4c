package heat

import (
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// insertBackoff is how long, in ns, no bucket is made after one that could not be.
const insertBackoff = 100_000_000

// Credit is how fast buckets may be made.
type Credit struct {
	Cost  time.Duration // of one; 0 for any number
	Burst time.Duration // that may be saved up
}

// Options say how large the tiers are.
type Options struct {
	Lines   uint64        // of cells: a power of two, at least 256
	Tick    time.Duration // of the coarse clock
	Buckets int           // how many there can be at a time; 0 for any number
	Cold    Credit        // for the buckets of sources that do without
	Hot     Credit        // for those of sources that need one
}

// Counts are what happened, since the tiers were made.
type Counts struct {
	Cold     uint64 // packets that passed by a cell alone, and not as untracked
	Inserts  uint64 // of buckets
	Deferred uint64 // inserts for which there was no credit or no room
}

// Source is who a packet is charged to.
type Source[K comparable] struct {
	Key      K           // of its bucket
	Hash     uint64      // chooses its line and its tag
	Region   int         // which of the eight parts of the table it is in: the policy's slot
	Verified func() bool // asked where there is no credit left
}

// Bucket is the exact state of a source, with the limit that it was last charged under.
type Bucket struct {
	limit.Bucket
	limit limit.Limit
}

// Tiers are both tiers, for sources with keys of type K. They have no lock.
type Tiers[K comparable] struct {
	Options
	Counts Counts

	lines     []Line
	buckets   map[K]*Bucket
	cold, hot credit
	notBefore uint64 // no bucket is made before
}

// New returns empty tiers.
func New[K comparable](o Options) *Tiers[K] {
	return &Tiers[K]{
		Options: o,
		lines:   make([]Line, o.Lines),
		buckets: make(map[K]*Bucket),
		cold:    credit{Credit: o.Cold},
		hot:     credit{Credit: o.Hot},
	}
}

// Lines returns the table of cells, which the caller must not change.
func (t *Tiers[K]) Lines() []Line { return t.lines }

// Len returns how many buckets there are.
func (t *Tiers[K]) Len() int { return len(t.buckets) }

// Evict forgets a bucket, as an LRU map does where it is full. It reports whether there was one.
func (t *Tiers[K]) Evict(key K) bool {
	_, ok := t.buckets[key]
	delete(t.buckets, key)
	return ok
}

// line returns the line of a source. Half of the table is the first region's, a quarter the next one's,
// and so on: a power of two for each, however few there are.
func (t *Tiers[K]) line(s Source[K]) *Line {
	lines := t.Options.Lines >> (s.Region + 1)
	return &t.lines[lines+s.Hash>>32&(lines-1)]
}

// clock returns the clock that a limit's cells are timed by: the kernel's tick, which costs nothing to
// read, where the burst is long enough for that.
func (t *Tiers[K]) clock(w weight, now uint64) clock {
	const slackTicks, fineBursts = 2, 64
	tick := uint64(t.Tick)
	slack := slackTicks * tick << Shift
	late := now / tick * tick
	c := clock{now: late << Shift, slack: slack, second: uint32(late >> markShift)}
	if w.burst < fineBursts*slack && w.charge != 0 {
		c.now, c.slack = now<<Shift, 0
	}
	return c
}

// hold returns for how long a cell says that its bucket may owe something: twice as long as it does, so
// that the cell is not written with every packet.
func (t *Tiers[K]) hold(debt uint64) uint64 {
	const slackTicks = 2
	return 2 * (debt + slackTicks*uint64(t.Tick)<<Shift)
}

// newBucket makes the bucket of a source that has none, unless there is no room.
func (t *Tiers[K]) newBucket(key K, l limit.Limit, now uint64) *Bucket {
	full := t.Buckets > 0 && len(t.buckets) >= t.Buckets
	if full && now >= t.notBefore {
		t.notBefore = now + insertBackoff
	}
	if full || now < t.notBefore {
		t.Counts.Deferred++
		return nil
	}
	t.Counts.Inserts++
	b := &Bucket{l.Fresh(now), l}
	t.buckets[key] = b
	return b
}

// mayInsert says whether a source that needs a bucket may get one. Those that proved themselves always do.
func (t *Tiers[K]) mayInsert(s Source[K], now uint64) bool {
	if t.hot.take(t.late(now)) || s.Verified() {
		return true
	}
	t.Counts.Deferred++
	return false
}

// late returns what the coarse clock shows at a time, in ns.
func (t *Tiers[K]) late(now uint64) uint64 { return now / uint64(t.Tick) * uint64(t.Tick) }

// credit is a Credit with what was used of it: the theoretical arrival time of the next insert.
type credit struct {
	Credit
	tat uint64 // ns
}

func (c *credit) take(now uint64) bool {
	next := max(c.tat, now) + uint64(c.Cost)
	if next-now > uint64(c.Burst) {
		return false
	}
	c.tat = next
	return true
}

// owe raises what a bucket owes to so many ticks of cells, where it is less.
func (b *Bucket) owe(debt, now uint64) {
	b.limit.Packets.Owe(&b.Packets, fromTicks(b.limit.Packets, debt), now)
	b.limit.Bytes.Owe(&b.Bytes, fromTicks(b.limit.Bytes, debt), now)
}

// owed returns what a bucket owes, in ticks of cells.
func (b *Bucket) owed(now uint64) uint64 {
	return max(ticks(b.limit.Packets, b.limit.Packets.Debt(b.Packets, now)),
		ticks(b.limit.Bytes, b.limit.Bytes.Debt(b.Bytes, now)))
}
