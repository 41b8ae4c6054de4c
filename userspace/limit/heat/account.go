package heat

import "github.com/headgate/headgate/userspace/limit"

// Overflow is what becomes of the packets of a source that needs a bucket and has none.
type Overflow uint8

// The overflow modes.
const (
	Estimate Overflow = iota // its cell decides, up to a whole burst; where it has none, it passes
	Pass
	Drop
)

// Answer is what is decided of a packet.
type Answer struct {
	Passes    bool
	Untracked bool          // not by a limit that is certainly the source's own
	Refusal   limit.Refusal // by the bucket
	Exact     bool          // the source has a bucket
}

// place is where a source is charged.
type place uint8

const (
	nowhere   place = iota // neither bucket nor cell
	inBucket               //
	inCell                 // as a cold source
	estimated              // in its cell, though there should be a bucket
)

// Account is where a packet of a source is charged. It is valid until the next one is opened.
type Account[K comparable] struct {
	*Tiers[K]
	source Source[K]
	limit  limit.Limit
	length uint64
	now    uint64

	place   place
	bucket  *Bucket
	cell    *Cell   // where there may be a hold to renew
	reading reading // of the cell of a source that was not known as exact
}

// Open finds where a packet of length bytes is charged at time now (ns), or makes a place. A source that
// is near its limit gets a bucket here, and others take a cell over, also if the packet is not charged
// in the end.
func (t *Tiers[K]) Open(s Source[K], l limit.Limit, length, now uint64) *Account[K] {
	a := &Account[K]{Tiers: t, source: s, limit: l, length: length, now: now, place: inBucket}
	a.bucket = t.buckets[s.Key]
	if !HasCells(l) {
		a.openBucket()
		return a
	}
	tag, line := uint32(s.Hash), t.line(s)
	own := line.find(tag)
	if own != nil && own.Time&exact != 0 && a.bucket != nil {
		a.cell = own
		return a
	}
	w := weigh(l, length)
	c := t.clock(w, now)
	a.cell = own
	if own == nil {
		a.cell = line.least(c)
	}
	a.reading = read(c, w, a.cell, own != nil)
	if a.reading.exact() {
		a.openExact(tag)
	} else {
		a.openCold()
	}
	return a
}

// openBucket opens the account of a source whose limit is none for cells.
func (a *Account[K]) openBucket() {
	if a.bucket == nil && a.mayInsert(a.source, a.now) {
		a.bucket = a.newBucket(a.source.Key, a.limit, a.now)
	}
	if a.bucket == nil {
		a.place = nowhere
	}
}

// openExact opens the account of a source in an exact cell, whose bucket may not have all that it owes.
// If the cell was its own the bucket was evicted, and the source is taken to owe as much as it may have. If
// it was not, the source may have lost a cell with what a cold source can owe.
func (a *Account[K]) openExact(tag uint32) {
	if !a.reading.own {
		a.cell.Tag, a.cell.Mark = tag, a.reading.second|inherited
	}
	stranger, debt := a.cell.Mark&inherited != 0, a.reading.debt
	if stranger {
		debt = min(debt, a.reading.weight.cold)
	}
	if a.bucket == nil && (!stranger || a.mayInsert(a.source, a.now)) {
		a.bucket = a.newBucket(a.source.Key, a.limit, a.now)
	}
	if a.bucket == nil {
		a.place = nowhere
		return
	}
	a.adopt()
	a.bucket.owe(debt, a.now)
}

// openCold opens the account of a source that was cold so far: it stays so, or gets a bucket. The first
// packet of a source is when that costs no debt to be handed over.
func (a *Account[K]) openCold() {
	bucket, cold := a.bucket, a.reading.cold()
	a.bucket = nil
	if cold && a.reading.debt == 0 && a.cold.take(a.late(a.now)) || !cold && a.mayInsert(a.source, a.now) {
		if bucket == nil {
			bucket = a.newBucket(a.source.Key, a.limit, a.now)
		}
		if bucket != nil {
			a.bucket = bucket
			a.promote()
			return
		}
	}
	a.place = estimated
	if cold {
		a.place = inCell
	}
}

// promote hands the debt of a cell over to the bucket. Where that owed something before, the source had
// lost its cell and inherited at least as much.
func (a *Account[K]) promote() {
	a.adopt()
	a.bucket.owe(a.reading.owes(), a.now)
	a.holdUntil(a.reading.clock, a.bucket.owed(a.now), uint32(a.source.Hash))
}

func (a *Account[K]) holdUntil(c clock, debt uint64, tag uint32) {
	*a.cell = Cell{Time: (c.now + a.hold(debt)) | exact, Tag: tag, Mark: c.second}
}

// Fits says what Take would, and charges nothing.
func (a *Account[K]) Fits(overflow Overflow) Answer { return a.ask(overflow, false) }

// Take charges the packet, if it may pass.
func (a *Account[K]) Take(overflow Overflow) Answer {
	answer := a.ask(overflow, true)
	if answer.Passes && a.place == inCell {
		a.Counts.Cold++
	}
	return answer
}

func (a *Account[K]) ask(overflow Overflow, charge bool) Answer {
	if a.limit.IsZero() {
		overflow = Pass // nothing is limited
	}
	switch {
	case a.place == inCell:
		passes := a.askCell(a.reading.weight.cold, charge)
		return Answer{Passes: passes, Untracked: !passes}
	case a.place == estimated && overflow == Estimate:
		return Answer{Passes: a.askCell(a.reading.weight.whole, charge), Untracked: true}
	case a.place != inBucket:
		return Answer{Passes: overflow != Drop, Untracked: true}
	}
	return a.askBucket(charge)
}

func (a *Account[K]) askCell(room uint64, charge bool) bool {
	if !charge {
		return a.reading.fits(room)
	}
	return a.reading.take(uint32(a.source.Hash), room)
}

func (a *Account[K]) askBucket(charge bool) Answer {
	b := a.bucket
	a.adopt()
	refusal := a.limit.Fits(b.Bucket, a.length, a.now)
	if charge && refusal == limit.None {
		a.limit.Take(&b.Bucket, a.length, a.now)
		a.renew()
	}
	return Answer{Passes: refusal == limit.None, Refusal: refusal, Exact: true}
}

// adopt carries a bucket over that was last charged under another limit.
func (a *Account[K]) adopt() {
	a.limit.Adopt(&a.bucket.Bucket, a.bucket.limit, a.now)
	a.bucket.limit = a.limit
}

// renew makes the hold of a source longer that is shorter than what its bucket owes. One that is too
// long, or stale, has come round.
func (a *Account[K]) renew() {
	const maxHold = 1 << 62
	if a.cell == nil || a.cell.Time&exact == 0 {
		return
	}
	debt := a.bucket.owed(a.now)
	c := a.clock(weight{burst: smallerBurst(a.limit), charge: 1}, a.now)
	if left := a.cell.Time - c.now; left-a.hold(debt)/2 > maxHold || c.stale(a.cell.Mark) {
		a.holdUntil(c, debt, a.cell.Tag)
	}
}
