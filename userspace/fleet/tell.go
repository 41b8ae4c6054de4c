package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/redisconn"
)

const (
	// fewRules are told one by one; more of them are told together.
	fewRules = 16
	// origin is that of the events.
	origin = "fleet"
)

// trouble remembers that something did not work, so that it is logged when that begins and when it ends.
type trouble struct{ text string }

// note notes an error, or that there was none. It reports whether that is another one, and whether it is the end of one.
func (t *trouble) note(err error) (began, ended bool) {
	if err == nil {
		ended, t.text = t.text != "", ""
		return false, ended
	}
	began = t.text == ""
	t.text = err.Error()
	return began, false
}

// tellSight tells whether the fleet is seen.
func (f *Fleet) tellSight(t *trouble, err error) {
	switch began, ended := t.note(err); {
	case began:
		what := "the fleet is not seen"
		if f.follows() {
			what += "; rules stay in force until their end"
		}
		f.o.Log.Warn(what, withMend(err, "members", f.Members())...)
	case ended:
		f.o.Log.Info("the fleet is seen again")
	}
}

// withMend returns attributes of a line about an error, with what can be done about it where that is known.
func withMend(err error, more ...any) []any {
	mend := redisconn.Mend(err)
	if errors.Is(err, errNonsense) {
		mend = "see who else may write keys that begin with redis.prefix"
	}
	attrs := append([]any{"error", err}, more...)
	if mend != "" {
		attrs = append(attrs, "mend", mend)
	}
	return attrs
}

// errCrowd is of more members than are counted.
var errCrowd = errors.New("more members than are counted")

// tellCrowd tells whether there are more members than are counted.
func (f *Fleet) tellCrowd(t *trouble) {
	f.roll.mu.Lock()
	found, err := f.roll.found, error(nil)
	f.roll.mu.Unlock()
	if found > mostMembers {
		err = errCrowd
	}
	if began, _ := t.note(err); began {
		f.o.Log.Warn("more members of the fleet than are counted; who else may write to Redis?", "counted", mostMembers, "found", found)
	}
}

// errTwin is of two members with one name.
var errTwin = errors.New("another member has this name")

// tellTwin tells whether another member has the name of this one.
func (f *Fleet) tellTwin(t *trouble) {
	var err error
	if f.hasTwin() {
		err = errTwin
	}
	if began, _ := t.note(err); began {
		f.o.Log.Warn("another machine of the fleet has the name of this one; give each its own by redis.name", "name", f.o.Redis.Name)
	}
}

// tellTrouble tells whether the rules of the fleet are followed.
func (a *follower) tellTrouble(ctx context.Context, look, apply error) {
	if ctx.Err() != nil {
		return
	}
	switch began, ended := a.looks.note(look); {
	case began:
		a.o.Log.Warn("changes of the fleet's rules cannot be read; it is tried again", withMend(look)...)
	case ended:
		a.o.Log.Info("changes of the fleet's rules are read again")
	}
	switch began, ended := a.applies.note(apply); {
	case began:
		a.o.Log.Error("the kernel does not have the rules of the fleet; it is tried again", "error", apply)
	case ended:
		a.o.Log.Info("the kernel has the rules of the fleet again")
	}
}

// tellResized tells that there is another number of members.
func (f *Fleet) tellResized(before, now int) {
	f.o.Log.Info("the fleet has another number of members", "members", now, "before", before)
	f.o.Publish(event.Event{
		Time: time.Now(), Kind: event.FleetResized, Origin: origin, Members: now, Reason: fmt.Sprintf("it had %d", before),
	})
	f.o.Resized(now)
}

// tellLost tells that the rules are those of another epoch.
func (a *follower) tellLost(epoch string) {
	if a.known && epoch != "" && len(a.still(time.Now())) > 0 {
		a.o.Log.Warn("Redis has lost the rules of the fleet; those that are known are kept until their end")
	}
}

// tellUnread tells that records were left out: those of a pass at once, and not again while it is the same.
func (a *follower) tellUnread(count int, last error) {
	if count == 0 || last.Error() == a.lastBad {
		return
	}
	a.lastBad = last.Error()
	a.o.Log.Warn("rules of the fleet that cannot be read were left out", "rules", count, "error", last)
}

// tellInForce tells which rules came into force with those that are.
func (a *follower) tellInForce(now []*record) {
	var fresh []*record
	for _, r := range now {
		own := r.rule.By == a.view.self && !r.person // its hand-down told of it
		if kept := r.at == 0; !r.inForce && !own && !kept {
			fresh = append(fresh, r)
		}
	}
	a.tell(event.FleetRule, "rules of the fleet came into force", fresh)
}

// tellSpared tells which rules are not in force for other reasons than before.
func (a *follower) tellSpared(winners []*record) {
	var fresh []*record
	for _, r := range winners {
		if r.verdict != "" && r.said != r.verdict {
			fresh = append(fresh, r)
		}
		r.said = r.verdict
	}
	a.tell(event.FleetSpared, "rules of the fleet are not in force here", fresh)
}

// tell tells of rules, each or all together.
func (a *follower) tell(kind event.Kind, what string, rules []*record) {
	now := time.Now()
	if len(rules) > fewRules {
		a.o.Log.Info(what, "rules", len(rules))
		a.o.Publish(event.Event{Time: now, Kind: kind, Origin: origin, Reason: what, Count: uint64(len(rules))})
		return
	}
	for _, r := range rules {
		reason, left := cmp.Or(r.verdict, r.rule.Reason), event.Roughly(r.left(now)) // 0 only for no end: left is not below a millisecond
		attrs := []any{"prefix", r.prefix.String(), "action", string(r.rule.Action), "by", r.rule.By, "person", r.person}
		if left > 0 {
			attrs = append(attrs, "for", left.String())
		}
		a.o.Log.Info(what, append(attrs, "reason", reason)...)
		a.o.Publish(event.Event{
			Time: now, Kind: kind, Source: r.prefix, Origin: origin, Rule: string(r.rule.Action), Name: r.rule.By,
			Reason: reason, For: left.Seconds(),
		})
	}
}

// tellUnset tells which rules that were in force are not any more, as somebody took them back.
func (a *follower) tellUnset(before []*record) {
	var gone []*record
	for _, r := range before {
		if !r.inForce {
			if by := a.view.unset(r); by != nil {
				rule := r.rule
				rule.By = by.rule.By
				gone = append(gone, &record{slot: by.slot, rule: rule})
			}
		}
	}
	a.tell(event.FleetUnset, "rules of the fleet were taken back", gone)
}

// silent are rules that were withheld and not told of yet.
type silent struct {
	mu   sync.Mutex
	n    int
	next time.Time
	full time.Time // when it is told again that there are too many in all
}

// withhold counts rules that are not published, and tells of them once a minute.
func (f *Fleet) withhold(n int) {
	f.counts.withheld.Add(uint64(n))
	f.silent.mu.Lock()
	f.silent.n += n
	now := time.Now()
	tell := 0
	if f.silent.n > 0 && !now.Before(f.silent.next) {
		tell, f.silent.n, f.silent.next = f.silent.n, 0, now.Add(time.Minute)
	}
	f.silent.mu.Unlock()
	if tell == 0 {
		return
	}
	reason := fmt.Sprintf("more than the %d that one machine may publish a minute", f.o.Config.MaxPublished)
	f.o.Log.Warn("hand-downs were not published: "+reason, "rules", tell, "max_published", f.o.Config.MaxPublished)
	f.o.Publish(event.Event{Time: now, Kind: event.FleetWithheld, Origin: origin, Reason: reason, Count: uint64(tell)})
}

// tellFull counts rules that are not published as the fleet has as many as it may.
func (f *Fleet) tellFull(n int) {
	if n == 0 {
		return
	}
	f.counts.withheld.Add(uint64(n))
	f.silent.mu.Lock()
	now := time.Now()
	tell := !now.Before(f.silent.full)
	if tell {
		f.silent.full = now.Add(time.Minute)
	}
	f.silent.mu.Unlock()
	if !tell {
		return
	}
	f.o.Log.Warn("hand-downs were not published: the fleet has as many rules as it may", "rules", n,
		"max_rules", f.o.Config.MaxRules)
	f.o.Publish(event.Event{
		Time: now, Kind: event.FleetWithheld, Origin: origin, Reason: ErrFull.Error(), Count: uint64(n),
	})
}
