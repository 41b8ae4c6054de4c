package adaptive

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// A histogram has linear buckets of a microsecond up to 64 µs, and above 32 in each doubling. So
// what it says of a latency is wrong by at most 1/64 of it, or half a microsecond.
const (
	subBits  = 5
	sub      = 1 << subBits
	longest  = 1<<31 - 1 // microseconds, 36 minutes; what takes longer counts as that
	doubling = 31 - subBits
	buckets  = doubling*sub + sub
)

// histogram counts latencies.
type histogram [buckets]uint64

// recorder is a histogram under way. All its methods may be called at the same time.
type recorder [buckets]atomic.Uint64

func (r *recorder) add(latency time.Duration) { r[bucket(latency)].Add(1) }

// take returns what was added since the last call. Each latency is in one of the histograms.
func (r *recorder) take() *histogram {
	var h histogram
	for i := range r {
		if r[i].Load() != 0 { // a load does not take the cache line from those who add
			h[i] = r[i].Swap(0)
		}
	}
	return &h
}

func bucket(latency time.Duration) int {
	us := uint64(min(max(latency.Microseconds(), 0), longest))
	shift := max(bits.Len64(us)-subBits-1, 0)
	return shift*sub + int(us>>shift)
}

// middle returns the latency in the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 2*sub {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/sub - 1
	low := (sub + bucket%sub) << shift
	return time.Duration(low)*time.Microsecond + time.Duration(1<<shift)*time.Microsecond/2
}

func (h *histogram) count() (n uint64) {
	for _, c := range h {
		n += c
	}
	return n
}

// percentile returns the latency that p of 100 answers stay within; 0 if there are none.
func (h *histogram) percentile(p float64) time.Duration {
	rank := max(uint64(math.Ceil(float64(h.count())*p/100)), 1)
	var n uint64
	for i, c := range h {
		if n += c; n >= rank {
			return middle(i)
		}
	}
	return 0
}

// beyond returns how many latencies are above limit.
func (h *histogram) beyond(limit time.Duration) (n uint64) {
	for _, c := range h[bucket(limit)+1:] {
		n += c
	}
	return n
}

// within returns the sum of all latencies, each cut to most.
func (h *histogram) within(most time.Duration) (sum time.Duration) {
	for i, c := range h {
		sum += time.Duration(c) * min(middle(i), most)
	}
	return sum
}
