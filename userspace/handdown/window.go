package handdown

import "time"

// mostMoments bounds what a window remembers, for who wants thousands of offences.
const mostMoments = 4096

// window has the offences of one source that count: those of the last `within`. The zero value has none.
//
// It is a list of all of them, and so exact: an offence counts until exactly `within` has passed. Only
// where more than mostMoments are to be counted, those that follow each other by less than a
// mostMoments-th of `within` are taken for one moment, the first; so some count too short, and none too long.
type window struct {
	moments []moment // from head on, in order of time
	head    int
	total   int
}

// moment is when offences were, and how many.
type moment struct {
	at time.Duration
	n  int
}

// add counts n offences at now, which is not before the last, and returns how many count then. No more than
// the latest `most` are remembered.
func (w *window) add(n int, now, within time.Duration, most int) int {
	n = min(n, most)
	w.count(now, within)
	for over := w.total + n - most; over > 0; over = w.total + n - most {
		w.drop(over)
	}
	w.total += n
	if last := len(w.moments) - 1; last >= w.head && w.joins(w.moments[last].at, now, within, most) {
		w.moments[last].n += n
		return w.total
	}
	w.compact()
	w.moments = append(w.moments, moment{now, n})
	return w.total
}

// joins reports whether what is at now is one moment with what is at last.
func (w *window) joins(last, now, within time.Duration, most int) bool {
	return now == last || most > mostMoments && now-last < within/mostMoments
}

// count returns how many offences count at now, and forgets the others.
func (w *window) count(now, within time.Duration) int {
	for w.head < len(w.moments) && now-w.moments[w.head].at >= within {
		w.drop(w.moments[w.head].n)
	}
	return w.total
}

// drop forgets n of the oldest offences, or all of the oldest moment.
func (w *window) drop(n int) {
	oldest := &w.moments[w.head]
	n = min(n, oldest.n)
	oldest.n -= n
	w.total -= n
	if oldest.n == 0 {
		w.head++
	}
}

// compact makes room at the end where half of the list is forgotten.
func (w *window) compact() {
	if w.head > 0 && 2*w.head >= len(w.moments) {
		w.moments = w.moments[:copy(w.moments, w.moments[w.head:])]
		w.head = 0
	}
}

// clear forgets all offences, and keeps the memory.
func (w *window) clear() { *w = window{moments: w.moments[:0]} }
