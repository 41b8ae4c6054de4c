package keyed

// leases tells which of the slots given out are still occupied, so that each is freed once. The
// zero value is ready. It has no lock.
type leases struct {
	all  []lease
	free []uint32
}

// lease is one Take of slots. Its generation is odd while it holds.
type lease struct {
	generation uint64
	n          uint64
}

// begin returns a new lease of n: its number + 1, so that it is never 0, and its generation.
func (l *leases) begin(n uint64) (number, generation uint64) {
	if len(l.free) == 0 {
		l.all = append(l.all, lease{})
		l.free = append(l.free, uint32(len(l.all)-1))
	}
	i := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	this := &l.all[i]
	this.generation++
	this.n = n
	return uint64(i) + 1, this.generation
}

// end returns of how much the lease was, and false if it has ended before or never was.
func (l *leases) end(number, generation uint64) (n uint64, ok bool) {
	if number == 0 || number > uint64(len(l.all)) {
		return 0, false
	}
	this := &l.all[number-1]
	if this.generation != generation || generation%2 == 0 {
		return 0, false
	}
	this.generation++
	l.free = append(l.free, uint32(number-1))
	return this.n, true
}
