package limit_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

func BenchmarkTake(b *testing.B) {
	b.Run("leaky", func(b *testing.B) { benchmark(b, leaky(b, "10r/s", 9, 4)) })
	b.Run("window", func(b *testing.B) { benchmark(b, window(b, 10, time.Second)) })
	b.Run("sliding", func(b *testing.B) { benchmark(b, sliding(b, 10, time.Second)) })
}

// benchmark spends the ten units that all of them admit at once, and then takes
// at half the rate or without time passing.
func benchmark[S any, A limit.Algorithm[S]](b *testing.B, a A) {
	run := func(name string, step time.Duration) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s, now := a.Fresh(0), time.Duration(0)
			a.Take(&s, 10, now)
			now += 10 * step
			want := step > 0
			for b.Loop() {
				now += step
				if a.Take(&s, 1, now).Allowed != want {
					b.Fatal("not " + name)
				}
			}
		})
	}
	run("allowed", 200*ms)
	run("refused", 0)
}
