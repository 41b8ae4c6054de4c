package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/traffic"
)

// drive makes a request of each key in turn, and returns how many were allowed.
func drive(l limiters.Limiter, keys traffic.Keys) (allowed int) {
	for i := range keys.Len() {
		if l.Take(keys.At(i)) {
			allowed++
		}
	}
	return allowed
}

// driveOn does that on so many CPUs, each with a part of the keys, and returns what it took too:
// on 1 the CPU time of the process, so that what others run meanwhile does not count, and
// on several, which may have to wait for each other, the time that passed.
func driveOn(cpus int, l limiters.Limiter, keys traffic.Keys) (allowed int, took time.Duration) {
	if cpus == 1 {
		start := cpuTime()
		allowed = drive(l, keys)
		return allowed, cpuTime() - start
	}
	var sum atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range cpus {
		part := keys.Slice(keys.Len()*i/cpus, keys.Len()*(i+1)/cpus)
		all.Go(func() {
			<-begin
			sum.Add(int64(drive(l, part)))
		})
	}
	start := time.Now()
	close(begin)
	all.Wait()
	return int(sum.Load()), time.Since(start)
}

// acquaint makes each key known by so many requests, from memory of its own that nobody else
// keeps.
func acquaint(l limiters.Limiter, keys traffic.Keys, requests int) error {
	for i := range keys.Len() {
		key := strings.Clone(keys.At(i))
		for range requests {
			if !l.Take(key) {
				return fmt.Errorf("refused one of the first %d requests of a key", requests)
			}
		}
	}
	if c, ok := l.(limiters.Counter); ok && c.Keys() != keys.Len() {
		return fmt.Errorf("remembers %d keys of %d", c.Keys(), keys.Len())
	}
	return nil
}

// liveHeap collects all garbage and returns the bytes of what is left.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // the first one may only have run finalizers
	return float64(memory().HeapAlloc)
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot be: both arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
