package backend

import "time"

// answer is given at some time to a request of an earlier one.
type answer struct{ at, asked time.Duration }

// answers is a heap, the next one first.
type answers []answer

func (a answers) Len() int           { return len(a) }
func (a answers) Less(i, j int) bool { return a[i].at < a[j].at }
func (a answers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *answers) Push(x any) { *a = append(*a, x.(answer)) }

// Pop implements heap.Interface.
func (a *answers) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
