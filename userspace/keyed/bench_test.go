package keyed_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/keyed"
)

// Beside other limiters: make bench.
func BenchmarkTake(b *testing.B) {
	for _, n := range []int{1, 1000, 100_000, 1_000_000} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf("2001:db8::%x:%x", i>>16, i&0xffff)
		}
		rand.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		s := keyed.New[string](leaky(b, "1r/s", 1<<30), keyed.Options[string]{MaxKeys: 2 * n, Clone: strings.Clone})
		for _, k := range keys {
			s.Take(k, 1, start)
		}
		for _, cost := range []uint64{1, 1 << 40} {
			b.Run(fmt.Sprintf("keys=%d/refused=%v", n, cost > 1), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					s.Take(keys[i%n], cost, start)
				}
			})
		}
	}
}
