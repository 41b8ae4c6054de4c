package adaptive

import "time"

// stuck finds requests that nobody answers, by counting alone: of those that were under way at an
// earlier moment, as many are left at least as did not end since.
type stuck struct {
	waiting int           // requests under way at that moment
	since   time.Duration // the moment
}

// step returns how many requests have been under way for at least age. ended is how many ended since
// the last call, and waiting how many are under way now.
func (s *stuck) step(now time.Duration, ended uint64, waiting int) (n int, age time.Duration) {
	n = min(s.waiting-int(min(ended, uint64(s.waiting))), waiting)
	age = now - s.since
	if ended > 0 || n == 0 {
		*s = stuck{waiting: waiting, since: now}
	}
	return n, age
}
