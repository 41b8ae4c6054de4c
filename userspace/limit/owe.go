package limit

// Debt returns how many ticks s owes at time now (ns), 0 if it is paid off or nothing is limited.
func (p Params) Debt(s State, now uint64) uint64 {
	if p.IsZero() {
		return 0
	}
	return p.debt(s, now)
}

// Owe raises what s owes at time now (ns) to so many ticks, where it is less, but to no more than the burst.
func (p Params) Owe(s *State, ticks, now uint64) {
	if debt := min(ticks, p.Burst); debt > p.debt(*s, now) {
		s.TAT = p.ticks(now) + debt
	}
}
