package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/replay"
	"github.com/headgate/headgate/userspace/ruleset"
)

// replaySummary returns what is printed of s.
func replaySummary(s *replay.Summary, h config.HTTP, f *replayFlags) render.ReplaySummary {
	view := render.ReplaySummary{
		Requests: s.Requests, Lines: s.Lines.Read, NoRequest: s.Lines.NoRequest,
		Unreadable: s.Lines.Unreadable, FirstUnreadable: []render.BadLine{},
		First: render.Milliseconds(s.First), Last: render.Milliseconds(s.Last), Span: render.Milliseconds(s.Last - s.First),
		Exempt:   s.Counters.Exempt,
		Enforced: replayEffect(s.Enforced, s.Requests), DryRun: replayEffect(s.DryRun, s.Requests),
		Keys: []render.ReplayKey{}, Skipped: skippedOfRules(s.Counters.Rules), Notes: replayNotes(s, h, f),
	}
	for _, bad := range s.Lines.First {
		view.FirstUnreadable = append(view.FirstUnreadable, render.BadLine(bad))
	}
	for _, k := range s.Keys {
		view.Keys = append(view.Keys, render.ReplayKey{
			Zone: k.Zone, Key: k.Key, Requests: k.Requests, TooMany: k.TooMany, Over: k.Over,
		})
	}
	if f.format() == replay.Log && s.Requests > 0 {
		view.FirstAt, view.LastAt = since1970(s.First), since1970(s.Last)
	}
	return view
}

func since1970(d time.Duration) *time.Time {
	t := time.Unix(0, int64(d)).UTC()
	return &t
}

func replayEffect(e replay.Effect, of uint64) render.ReplayEffect {
	total := float64(max(of, 1))
	view := render.ReplayEffect{
		Refused: e.Refused, RefusedShare: float64(e.Refused) / total,
		Delayed: e.Delayed, DelayedShare: float64(e.Delayed) / total,
		LongestDelay: render.Milliseconds(e.LongestDelay), TotalDelay: render.Milliseconds(e.TotalDelay),
		Clients: e.Clients.Distinct, MoreClients: e.Clients.More,
		By: []render.ReplayBy{}, TopClients: []render.ReplayClient{},
	}
	for _, by := range e.By {
		view.By = append(view.By, render.ReplayBy(by))
	}
	for _, c := range e.Clients.Top {
		view.TopClients = append(view.TopClients, render.ReplayClient{
			Client: c.Client, Refused: c.Requests, TooMany: c.TooMany,
		})
	}
	return view
}

func skippedOfRules(rules []ruleset.RuleCounters) []render.SkippedOfRule {
	skipped := []render.SkippedOfRule{}
	for _, r := range rules {
		if r.Absent+r.Unknown+r.Exempt > 0 {
			skipped = append(skipped, render.SkippedOfRule{
				Rule: r.Rule, Absent: r.Absent, Unknown: r.Unknown, Exempt: r.Exempt,
			})
		}
	}
	return skipped
}

// onBack says what limits make of a request that is older than one above it.
func onBack(h config.HTTP) string {
	if slices.ContainsFunc(h.Zones, func(z config.Zone) bool { return z.Algorithm == config.Nginx }) {
		return "limits were told the times as they are recorded, because nginx has a way of its own with them"
	}
	return "limits went on from the latest time"
}

// replayNotes says what to know about the numbers.
func replayNotes(s *replay.Summary, h config.HTTP, f *replayFlags) []string {
	notes := []string{}
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if f.format() == replay.Log && s.Requests > 0 {
		note("The log tells whole seconds: requests of one second came all at once here, so that limits whose burst is less than a second's requests refuse more than they would.")
		if f.host == "" && slices.ContainsFunc(h.Rules, matchesHosts) {
			note("Rules that match a host were asked only about lines that begin with one; --host names that of the others.")
		}
	}
	if s.Back > 0 {
		note("%d times a request is older than the one above it, by up to %s: %s.",
			s.Back, render.Milliseconds(s.FurthestBack), onBack(h))
	}
	if s.TookUnknown > 0 {
		note("For limits of requests at a time those ended at once of which it is not recorded how long they took (took_ms): %d.", s.TookUnknown)
	}
	if s.EndedEarly > 0 {
		note("%d requests ended early, because more were under way at a time than are remembered.", s.EndedEarly)
	}
	if slices.ContainsFunc(s.Keys, func(k replay.Key) bool { return k.TooMany > 0 }) {
		note("There were more keys than are counted exactly: what is counted as A to B is between these.")
	}
	if evicted := forgotten(s.Counters.Zones); evicted > 0 {
		note("%d keys were forgotten for want of room while they owed something, and had a fresh burst; raise max_keys.", evicted)
	}
	return notes
}

func matchesHosts(r config.Rule) bool { return r.Match.Host.Text != "" }

// forgotten returns how many keys got a fresh burst.
func forgotten(zones []ruleset.ZoneCounters) (n uint64) {
	for _, z := range zones {
		n += z.Keyed.EvictedLive
	}
	return n
}
