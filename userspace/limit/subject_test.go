package limit_test

import (
	"math/big"
	"math/bits"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

// subject is one of several limits that share a state, with its model.
type subject[S comparable] struct {
	limit.Algorithm[S]
	model
	whole uint64        // what it admits at one instant
	most  time.Duration // after which nothing matters that any of them charged
}

func drawLeaky(t *rapid.T) []subject[limit.State] {
	specs := make([]limit.LeakySpec, rapid.IntRange(1, 3).Draw(t, "limits"))
	var shift uint8
	for i := range specs {
		r := drawRate(t, rate.Requests)
		burst := upTo(t, "burst", 0, 61-bits.Len64(uint64(r.Per)<<9/r.Count)) // 9 is the largest shift
		specs[i] = limit.LeakySpec{Rate: r, Burst: burst, Delay: rapid.Uint64Range(0, burst).Draw(t, "delay")}
		p, err := limit.Compile(r, 1)
		if err != nil {
			t.Fatal(err)
		}
		shift = max(shift, p.Shift)
	}
	limits, err := limit.CompileLeaky(specs)
	if err != nil {
		t.Fatal(err)
	}
	subjects, most := make([]subject[limit.State], len(specs)), time.Duration(0)
	for i, spec := range specs {
		ticks := new(big.Int).Lsh(big.NewInt(int64(spec.Rate.Per)), uint(shift))
		cost := ceil(ticks, unsigned(spec.Rate.Count)).Uint64()
		most = max(most, time.Duration(cost*(spec.Burst+1)>>shift+1))
		b := bucket{cost: cost, limit: spec.Burst + 1, delay: spec.Delay, shift: shift}
		subjects[i] = subject[limit.State]{limits[i], b, b.limit, 0}
	}
	for i := range subjects {
		subjects[i].most = most
	}
	return subjects
}

func drawWindow(t *rapid.T) []subject[limit.WindowState] {
	return drawQuotas(t, func(q quota) (subject[limit.WindowState], error) {
		w, err := limit.NewWindow(q.count, q.per)
		return subject[limit.WindowState]{w, fixed{q}, q.count, q.per}, err
	})
}

func drawSliding(t *rapid.T) []subject[limit.SlidingState] {
	return drawQuotas(t, func(q quota) (subject[limit.SlidingState], error) {
		l, err := limit.NewSliding(q.count, q.per)
		return subject[limit.SlidingState]{l, grid{q}, q.count, 2 * q.per}, err
	})
}

// drawQuotas draws limits of different counts in the same time.
func drawQuotas[S comparable](t *rapid.T, compile func(quota) (subject[S], error)) []subject[S] {
	per := time.Duration(upTo(t, "per", 1, 40))
	subjects := make([]subject[S], rapid.IntRange(1, 3).Draw(t, "limits"))
	for i := range subjects {
		var err error
		if subjects[i], err = compile(quota{upTo(t, "count", 1, 62), per}); err != nil {
			t.Fatal(err)
		}
	}
	return subjects
}

// upTo draws a number of any size up to so many bits.
func upTo(t *rapid.T, label string, least uint64, bits int) uint64 {
	return rapid.Uint64Range(least, 1<<rapid.IntRange(1, bits).Draw(t, label+" bits")-1).Draw(t, label)
}

// units draws how many to charge: few, as many as fit, a bit more, or any.
func (a subject[S]) units(t *rapid.T, s S, now time.Duration) uint64 {
	room := a.Take(&s, 0, now).Remaining
	return rapid.OneOf(
		rapid.Uint64Range(0, 2),
		rapid.Uint64Range(0, room),
		rapid.Uint64Range(room, room+2),
		rapid.Uint64Range(0, a.whole+1),
		rapid.Uint64(),
	).Draw(t, "n")
}

// gap draws a time up to one that lets everything pass.
func (a subject[S]) gap(t *rapid.T) time.Duration {
	return time.Duration(upTo(t, "gap", 0, bits.Len64(uint64(a.most))+1))
}
