package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Set publishes rules that somebody wants, all or none of them. It returns when they are in force here and published. Of
// two for one prefix the later one counts. An error is ErrWrong, ErrTooMany, ErrFull, ErrNotHere, or says why they are not
// known to be published.
//
// What is protected here is published all the same, and not in force here: Status counts it.
func (f *Fleet) Set(ctx context.Context, rules []Rule) error {
	changes, err := f.personal(ctx, rules)
	if err != nil || len(changes) == 0 {
		return err
	}
	n := len(changes)
	if fit, wait := f.quota.take(n, false); fit < n {
		return f.tooMany(n, fit, wait)
	}
	got, err := f.publish(ctx, modeSet, changes)
	if err != nil {
		return fmt.Errorf("it is not known that the rules were published: %w", err) // so they count
	}
	if got.written() < n {
		f.quota.giveBack(n)
		if got.count("q") > 0 {
			return f.tooMany(n, got.fit, got.wait)
		}
		return fmt.Errorf("%w, max_rules: %d; of these %d there is room for %d", ErrFull, f.o.Config.MaxRules, n, got.fit)
	}
	f.counts.published.Add(uint64(n))
	if _, err := f.catchUp(ctx); err != nil {
		return fmt.Errorf("the rules were published, but %w: %w", ErrNotHere, err)
	}
	return nil
}

// personal returns the rules as changes, one for each prefix.
func (f *Fleet) personal(ctx context.Context, rules []Rule) (changes []change, err error) {
	if err := f.following.take(ctx); err != nil {
		return nil, fmt.Errorf("the rules were not published: %w", err)
	}
	defer f.following.giveBack()
	at := map[slot]int{}
	now := time.Now()
	var wrong []error
	for _, r := range rules {
		r.Person = true
		r, err := check(r, f.o.Redis.Name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		c := f.follower.change(slot{r.Prefix, true}, now)
		c.none, c.end, c.body = false, time.Time{}, bodyOf(r)
		if r.For > 0 {
			c.end = now.Add(max(r.For, time.Millisecond))
		}
		i, twice := at[c.slot]
		if !twice {
			i, changes = len(changes), append(changes, change{})
		}
		at[c.slot], changes[i] = i, c
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrWrong, errors.Join(wrong...))
	}
	return changes, nil
}

// change returns what is known of a slot, as a change of it.
func (a *follower) change(s slot, now time.Time) change {
	r := a.view.known(s)
	if r == nil || r.ended(now) {
		return change{slot: s, none: true}
	}
	return change{slot: s, at: r.at, end: r.end, none: r.gone}
}

// tooMany returns the error of n rules, of which so many fit now, and all in so long.
func (f *Fleet) tooMany(n, fit int, wait time.Duration) error {
	most := f.o.Config.MaxPublished
	if wait < 0 {
		return fmt.Errorf("%w: one machine may publish %d, and these are %d, of which there is room for %d now; give at most %d a minute, or raise fleet.max_published",
			ErrTooMany, most, n, fit, most)
	}
	return fmt.Errorf("%w: one machine may publish %d; of these %d there is room for %d now, and for all in %v; or raise fleet.max_published",
		ErrTooMany, most, n, fit, wait.Round(time.Second))
}

// Unset takes rules back, whoever made them, and returns the prefixes that had one. It is so here when it returns, as with
// Set. If it fails some may have been taken back.
func (f *Fleet) Unset(ctx context.Context, prefixes []netip.Prefix) (had []netip.Prefix, err error) {
	changes, err := f.withdrawals(ctx, prefixes)
	if err != nil {
		return nil, fmt.Errorf("the rules were not taken back: %w", err)
	}
	for len(changes) > 0 {
		n := min(len(changes), page) // even, as page is: both of a prefix
		got, err := f.publish(ctx, modeUnset, changes[:n])
		if err != nil {
			return had, fmt.Errorf("it is not known that the rules were taken back: %w", err)
		}
		for i := 0; i < n; i += 2 {
			if got.letters[i] == 'w' || got.letters[i+1] == 'w' {
				had = append(had, changes[i].prefix)
			}
		}
		changes = changes[n:]
	}
	if _, err := f.catchUp(ctx); err != nil {
		return had, fmt.Errorf("the rules were taken back, but %w: %w", ErrNotHere, err)
	}
	return had, nil
}

// withdrawals returns the changes that take back the rules of prefixes, two for each.
func (f *Fleet) withdrawals(ctx context.Context, prefixes []netip.Prefix) (changes []change, err error) {
	if err := f.following.take(ctx); err != nil {
		return nil, err
	}
	defer f.following.giveBack()
	now, seen := time.Now(), map[netip.Prefix]bool{}
	for _, p := range prefixes {
		p = canonical(p)
		if !p.IsValid() || seen[p] {
			continue
		}
		seen[p] = true
		for _, person := range []bool{true, false} {
			c := f.follower.change(slot{p, person}, now)
			c.gone, c.body = true, bodyOf(Rule{By: f.o.Redis.Name})
			changes = append(changes, c)
		}
	}
	return changes, nil
}
