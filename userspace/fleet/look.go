package fleet

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	// page is how many changes are read at once: few enough that Redis answers others meanwhile.
	page = 500
	// compareEvery is how often all that the fleet says is read, and not only what has changed.
	compareEvery = 5 * time.Minute
)

// pass is one reading of changes.
type pass struct {
	whole  bool           // from the beginning
	seen   map[slot]int64 // the "at" of what was read
	epoch  string
	since  uint64 // the version up to which was read
	until  uint64 // the version that is enough: what comes meanwhile is left to the next pass
	newest int64  // the latest "at" of what was news
	bad    error  // of the last record that could not be read
	count  int    // of those
}

// look reads what has changed. It is news to the follower even if an error keeps it from being all.
func (a *follower) look(ctx context.Context) error {
	if a.joined.Swap(false) || !time.Now().Before(a.compareAt) {
		a.whole = true
	}
	p := pass{whole: a.whole, seen: map[slot]int64{}, epoch: a.epoch, since: a.version}
	if p.whole {
		p.since = 0
	}
	for more, first := true, true; more; first = false {
		var err error
		if more, err = a.turn(ctx, &p, first); err != nil {
			a.whole = a.whole || p.whole
			return err
		}
	}
	a.epoch, a.version = p.epoch, p.since
	a.tellUnread(p.count, p.bad)
	if p.newest > 0 && !p.whole {
		a.newest = max(a.newest, p.newest)
	}
	if !p.whole {
		return nil
	}
	if err := a.restore(ctx, p.seen); err != nil {
		a.whole = true
		return err
	}
	a.whole, a.compareAt = false, time.Now().Add(compareEvery)
	return nil
}

// turn reads a page, and reports whether there are more.
func (a *follower) turn(ctx context.Context, p *pass, first bool) (more bool, err error) {
	h, says, err := a.run(ctx, a.scripts.look, a.keys.rules, p.epoch, strconv.FormatUint(p.since, 10), strconv.Itoa(page))
	if err != nil {
		return false, err
	}
	if len(says)%3 != 1 {
		return false, fmt.Errorf("%w: %d fields", errNonsense, len(says))
	}
	from, err := number(says[0])
	if err != nil {
		return false, err
	}
	if h.epoch != p.epoch || uint64(from) != p.since {
		a.tellLost(p.epoch)
		*p = pass{whole: true, seen: map[slot]int64{}, epoch: h.epoch}
		first = true
	}
	if first {
		p.until = h.version
	}
	changes := says[1:]
	for len(changes) > 0 {
		if err := a.take(p, changes[0], changes[1], changes[2]); err != nil {
			return false, err
		}
		changes = changes[3:]
	}
	if len(says)/3 < page {
		p.since = h.version
	}
	return p.since < p.until, nil
}

// take notes one change.
func (a *follower) take(p *pass, version, slotText, text string) error {
	n, err := number(version)
	if err != nil {
		return err
	}
	if uint64(n) < p.since {
		return fmt.Errorf("%w: versions fall", errNonsense)
	}
	p.since = uint64(n)
	r, err := readRecord(slotText, text, a.clock.when)
	if err != nil {
		p.bad, p.count = err, p.count+1
		return nil //nolint:nilerr // one that cannot be read does not hold up the others, see pass.bad
	}
	if a.view.places[r.prefix] == nil && len(a.view.places) >= 2*a.o.Config.MaxRules { // rules, and those that were taken back
		p.bad, p.count = fmt.Errorf("%s: %w, max_rules: %d", r.slot, ErrFull, a.o.Config.MaxRules), p.count+1
		return nil
	}
	p.seen[r.slot] = r.at
	if !a.view.merge(r) {
		return nil
	}
	a.dirty, p.newest = true, max(p.newest, r.at)
	if r.gone && !r.person {
		a.lifted = append(a.lifted, r.prefix)
	}
	if r.rule.By != a.view.self && !r.gone {
		a.counts.received.Add(1)
	}
	return nil
}

// restore publishes again what this member has published, and is not in the set any more.
func (a *follower) restore(ctx context.Context, seen map[slot]int64) error {
	var all []change
	for _, r := range a.view.missing(seen) {
		if !r.ended(time.Now()) {
			all = append(all, change{slot: r.slot, gone: r.gone, at: r.at, end: r.end, body: bodyOf(r.rule)})
		}
	}
	written := 0
	for len(all) > 0 {
		n := min(len(all), page)
		got, err := a.publish(ctx, modeAgain, all[:n])
		if err != nil {
			return err
		}
		written += got.written()
		all = all[n:]
	}
	if written > 0 {
		a.o.Log.Warn("rules that this machine had published were missing in Redis, and were published again", "rules", written)
	}
	return nil
}
