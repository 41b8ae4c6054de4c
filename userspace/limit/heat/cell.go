// Package heat is the executable specification of the two tiers of the packet limiter: heat cells for
// sources that are far from their limit, exact buckets for the others. It is what the XDP program does
// on one CPU, step for step; bpf/include/heat.h and bpf/include/account.h are the same in C.
//
// A flood from made up addresses brings a new source with every packet. A bucket for each would cost
// several cache misses, and push out the buckets of those who matter. So a source is first charged in a
// cell of 16 bytes, of which four are in one cache line. It is cold while its cell shows at most half a
// burst of debt. When that is not enough any more it gets a bucket, which takes the debt over, and its
// cell only remembers until when the bucket may owe something.
//
// # Cells
//
// A source without a cell in its line takes the one whose time is the least, and inherits the time. So
// whoever lost his cell finds none that owes less than he does: a table that is too small makes the
// limiter stricter and never laxer. This is the replacement of the space-saving algorithm (A. Metwally
// et al., "Efficient computation of frequent and top-k elements in data streams", 2005) with times in the
// place of counts. What a cell counts is the debt of the generic cell rate algorithm (ITU-T I.371), as in
// package limit, but of both dimensions in one: each packet weighs what it does in the one where that
// is more.
//
// # Buckets
//
// Making a bucket is what costs, so each CPU has a credit for it (type Credit): one for sources that are
// cold and do without, so that in peace everybody has a bucket and is counted exactly, and another one
// for those that need one. Who needs one and gets none is untracked: he is decided by his cell up to a
// whole burst, or by no limit at all (type Overflow).
//
// # What holds
//
// No source passes more than its burst and what its rate earned, to the packet, however small the table
// is; and a source that stays below half of both loses nothing by the table. Excluded is what passes
// untracked, a source that loses its bucket and its cell, and, for the second, limits in both dimensions
// of which a packet weighs more in one than half a burst of the other. The property tests show it.
//
// # What it leaves out
//
// There is one CPU: no compare-and-swap fails, between asking and charging nobody else charges, and no
// source gets two cells because two CPUs see it first at the same time.
package heat

// Shift is of the ticks that cells count in, which are 2^-Shift ns. It is one more than limit.MaxShift:
// so the lowest bit of a time is free, and says that the source is exact.
const Shift = 17

const (
	exact = 1 // in Cell.Time

	// markShift is of the units of marks, which are 2^markShift ns. inherited is a flag in a mark: the
	// time of an exact cell is still of who had it before.
	markShift = 30
	inherited = 1 << 31

	// Times come round every 39 hours; a cell whose mark is older than maxAge is past, whatever it looks
	// like. A mark may be ahead by so much, of a CPU that read the clock later.
	maxAge = 20000
	ahead  = 16
)

// Cell is what the first tier knows of a source.
type Cell struct {
	Time uint64 // until when it owes, or with the lowest bit set until when its bucket may
	Tag  uint32 // low half of the source's hash
	Mark uint32 // when Time was written last
}

// Line is one cache line of cells. All sources of a policy with the same index share it.
type Line [4]Cell

// clock is what a cell is compared with.
type clock struct {
	now    uint64 // ticks
	slack  uint64 // ticks by which now may be late
	second uint32 // a mark of now
}

func (c clock) stale(mark uint32) bool { return (c.second+ahead-mark)&^inherited > maxAge }

// left returns the time that is left of a cell. One that is stale has less than any other.
func (c clock) left(cell Cell) int64 {
	if c.stale(cell.Mark) {
		return -1 << 63
	}
	return int64(cell.Time - c.now)
}

// find returns the cell of a source, or nil.
func (l *Line) find(tag uint32) *Cell {
	for i := range l {
		if l[i].Tag == tag {
			return &l[i]
		}
	}
	return nil
}

// least returns the cell that has the least time left, which is who gives its place away.
func (l *Line) least(c clock) *Cell {
	least := &l[0]
	for i := range l {
		if c.left(l[i]) < c.left(*least) {
			least = &l[i]
		}
	}
	return least
}

// reading is a cell at the moment of a packet, by who is charged in it.
type reading struct {
	clock
	weight weight
	cell   *Cell
	own    bool   // the cell is the source's; otherwise it is of the one whose place it would take
	debt   uint64 // that the source inherits or has
}

// read finds out what a cell says of a source.
func read(c clock, w weight, cell *Cell, own bool) reading {
	r := reading{clock: c, weight: w, cell: cell, own: own}
	debt := cell.Time&^exact - c.now
	switch {
	case int64(debt) <= 0 || c.stale(cell.Mark):
	case cell.Time&exact != 0:
		r.debt = debt
	case own:
		r.debt = debt
	default:
		// The other one may owe more than a cold source can, and this one does not.
		r.debt = min(debt, w.cold)
	}
	return r
}

func (r *reading) exact() bool { return r.cell.Time&exact != 0 && r.debt > 0 }

func (r *reading) fits(room uint64) bool { return r.weight.fits && r.debt+r.weight.charge <= room }

func (r *reading) cold() bool { return r.fits(r.weight.cold) }

// owes returns the debt to hand over to a bucket: as the clock may be late, more than the cell shows.
func (r *reading) owes() uint64 {
	if r.debt > 0 {
		return r.debt + r.slack
	}
	late := r.cell.Time + r.slack - r.now
	if r.cell.Time&exact != 0 || late > r.slack || r.stale(r.cell.Mark) {
		return 0
	}
	return late
}

// take charges the packet to the cell where it fits into room, and makes the cell the source's.
func (r *reading) take(tag uint32, room uint64) bool {
	if r.weight.charge == 0 {
		return true
	}
	if !r.fits(room) {
		return false
	}
	*r.cell = Cell{Time: r.now + r.debt + r.weight.charge, Tag: tag, Mark: r.second}
	return true
}
