package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// queue has hand-downs that are to be published, in the order in which they came, one for a prefix.
type queue struct {
	most int
	wake wake

	mu    sync.Mutex
	items []change
	at    map[slot]int // where it is in items
}

func newQueue(most int) queue { return queue{most: most, wake: make(wake, 1), at: map[slot]int{}} }

// has notes a change of a slot that has one waiting, and reports whether it has. The one that ends later stays.
func (q *queue) has(c change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, waits := q.at[c.slot]
	if waits && c.end.After(q.items[i].end) {
		q.items[i] = c
	}
	return waits
}

// push adds a change, and reports whether there was room.
func (q *queue) push(c change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) >= q.most {
		return false
	}
	q.at[c.slot] = len(q.items)
	q.items = append(q.items, c)
	return true
}

// take returns some of the changes that have not ended, those that wait longest.
func (q *queue) take(most int, now time.Time) (batch []change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) > 0 && len(batch) < most {
		c := q.items[0]
		q.items = q.items[1:]
		if _, ended := c.left(now); !ended {
			batch = append(batch, c)
		}
	}
	q.index()
	return batch
}

// untake puts back what take returned, but for what came since.
func (q *queue) untake(batch []change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := make([]change, 0, len(batch)+len(q.items))
	for _, c := range batch {
		if _, newer := q.at[c.slot]; !newer {
			items = append(items, c)
		}
	}
	q.items = append(items, q.items...)
	q.index()
}

func (q *queue) index() {
	clear(q.at)
	for i, c := range q.items {
		q.at[c.slot] = i
	}
}

// Share publishes rules that this machine's hand-down has made. It does not wait; what is more than may be published is
// dropped, counted and logged.
func (f *Fleet) Share(rules []Rule) {
	if !f.o.Config.HandDown {
		return
	}
	withheld := 0
	for _, r := range rules {
		r.Person = false
		r, err := check(r, f.o.Redis.Name)
		if err != nil || r.Action == config.Allow || r.For == 0 {
			f.o.Log.Error("a hand-down cannot be published", "source", r.Prefix.String(), "error", err)
			continue
		}
		if !f.share(change{slot: slot{prefix: r.Prefix}, end: time.Now().Add(r.For), body: bodyOf(r)}) {
			withheld++
		}
	}
	f.withhold(withheld)
	f.shared.wake.up()
}

// share has a hand-down published, and reports whether it may be.
func (f *Fleet) share(c change) bool {
	if f.shared.has(c) {
		return true
	}
	if fit, _ := f.quota.take(1, true); fit == 0 {
		return false
	}
	if f.shared.push(c) {
		return true
	}
	f.quota.giveBack(1)
	return false
}

// publishUntil publishes what is shared until ctx ends.
func (f *Fleet) publishUntil(ctx context.Context) {
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	var pause backoff
	for {
		news := f.shared.wake
		if pause > 0 {
			news = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-minute.C:
			f.withhold(0)
			continue
		case <-news:
		case <-retry.C:
		}
		if err := f.publishShared(ctx); err != nil {
			retry.Reset(pause.more())
		} else {
			pause = 0
		}
	}
}

// publishShared publishes all that is shared. What Redis does not take as it does not answer waits.
func (f *Fleet) publishShared(ctx context.Context) error {
	for {
		batch := f.shared.take(page, time.Now())
		if len(batch) == 0 {
			return nil
		}
		got, err := f.publish(ctx, modeShare, batch)
		if err != nil {
			f.shared.untake(batch)
			return err
		}
		f.counts.published.Add(uint64(got.written()))
		f.withhold(got.count("q"))
		f.tellFull(got.count("f"))
		f.wake.up()
	}
}
