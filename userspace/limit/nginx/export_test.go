package nginx

import (
	"time"
	"unsafe"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// NodeSize returns how many bytes a key takes, without its place in the buckets.
func NodeSize[K comparable]() uintptr { return unsafe.Sizeof(node[K]{}) }

// Nodes returns how many nodes z ever had at once.
func Nodes[K comparable](z *Zone[K]) int { return int(z.nodes.used) }

// LongestChain returns how many keys are in the fullest bucket of z.
func LongestChain[K comparable](z *Zone[K]) (most int) {
	for _, first := range z.nodes.buckets {
		n := 0
		for i := first; i != 0; i = z.nodes.at(i).chain {
			n++
		}
		most = max(most, n)
	}
	return most
}

// Take is l.Take for a key that is at p.
func Take[K comparable](l *Limiter[K], key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	return l.take(key, p, n, now)
}
