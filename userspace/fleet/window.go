package fleet

import (
	"sync"
	"time"
)

// window admits at most so many in any minute. It counts by the second, and a second counts until it is wholly a minute ago,
// as publish.lua does.
type window struct {
	most  int
	began time.Time

	mu      sync.Mutex
	seconds map[int64]int // how many in each since began
}

func newWindow(most int) *window {
	return &window{most: most, began: time.Now(), seconds: map[int64]int{}}
}

// take admits n, or if some is set as many of n as may be, and else none. It returns how many may be, and in how long n
// may; negative for never.
func (w *window) take(n int, some bool) (fit int, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := int64(time.Since(w.began) / time.Second)
	fit = min(n, w.free(now))
	if fit == n || some {
		w.seconds[now] += fit
		return fit, 0
	}
	return fit, w.wait(n, now)
}

// free returns how many may be in a second, and forgets those before its minute.
func (w *window) free(second int64) int {
	free := w.most
	for s, n := range w.seconds {
		switch {
		case s < second-60:
			delete(w.seconds, s)
		default:
			free -= n
		}
	}
	return max(free, 0)
}

// wait returns how long it is until n may be.
func (w *window) wait(n int, now int64) time.Duration {
	if n > w.most {
		return -1
	}
	begun := time.Since(w.began) % time.Second
	for s := now - 60; s <= now; s++ { // the oldest leave first
		left := 0
		for at, count := range w.seconds {
			if at > s {
				left += count
			}
		}
		if left+n <= w.most {
			return time.Duration(s+61-now)*time.Second - begun
		}
	}
	return time.Minute
}

// giveBack takes back what take admitted, as it was not used.
func (w *window) giveBack(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := int64(time.Since(w.began) / time.Second)
	for s := now; s >= now-60 && n > 0; s-- {
		back := min(n, w.seconds[s])
		w.seconds[s] -= back
		n -= back
	}
}
