package replay

import (
	"container/heap"
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

// mostUnderWay bounds the requests that are under way at a time, about 1 kB each: more than a server
// has. Beyond, the one that ends first ends early.
const mostUnderWay = 1 << 17

// underWay are requests that hold places in zones of requests at a time.
type underWay struct {
	ends  endings
	early uint64 // that ended early
}

type ending struct {
	at       time.Duration
	decision *ruleset.Decision
}

// add lets d end at at.
func (u *underWay) add(d *ruleset.Decision, at time.Duration) {
	if len(u.ends) == mostUnderWay {
		u.early++
		u.endFirst()
	}
	heap.Push(&u.ends, ending{at, d})
}

// end ends what has ended at now.
func (u *underWay) end(now time.Duration) {
	for len(u.ends) > 0 && u.ends[0].at <= now {
		u.endFirst()
	}
}

func (u *underWay) endFirst() {
	e := heap.Pop(&u.ends).(ending)
	e.decision.Free(sinceBoot(e.at))
}

// endings is a heap by time.
type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = ending{}
	*e = (*e)[:last]
	return x
}
