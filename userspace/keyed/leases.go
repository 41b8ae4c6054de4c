package keyed

// leases tells which of the slots given out are still occupied, so that each is freed once. The
// zero value is ready. It has no lock.
type leases struct {
	all  slab[lease]
	free uint64 // the number of the first that is free, 0 for none
}

// lease is one Take of slots. Its generation is odd while it holds.
type lease struct {
	generation uint64
	n          uint64 // how many slots; the number of the next that is free, in one that is free
}

// begin returns a new lease of n: its number, which is never 0, and its generation.
func (l *leases) begin(n uint64) (number, generation uint64) {
	if l.free == 0 {
		l.free = uint64(l.all.push()) + 1
	}
	number = l.free
	this := l.all.at(int(number - 1))
	l.free = this.n
	this.generation++
	this.n = n
	return number, this.generation
}

// end returns of how much the lease was, and false if it has ended before or never was.
func (l *leases) end(number, generation uint64) (n uint64, ok bool) {
	if number == 0 || number > uint64(l.all.len) {
		return 0, false
	}
	this := l.all.at(int(number - 1))
	if this.generation != generation || generation%2 == 0 {
		return 0, false
	}
	n = this.n
	this.generation++
	this.n, l.free = l.free, number
	return n, true
}
