// Package limiters holds what is compared: headgate's limits by key and those of others, all
// with one method. Each is used as its documentation says, with the options that are best for it
// where the defaults are not; each reads the clock itself, once a call or as often as it likes.
package limiters

import "time"

// Limiter limits by key. Its method may be called at the same time by many.
type Limiter interface {
	// Take reports whether one more request of key may pass.
	Take(key string) bool
}

// Counter is a Limiter that knows how many keys it remembers.
type Counter interface {
	Limiter
	// Keys returns how many keys are remembered, while nobody calls Take.
	Keys() int
}

// Setup is the limit, and for how many keys.
type Setup struct {
	Burst int           // how many requests an idle key may send at one instant, at least 1
	Per   time.Duration // in which it may send one more
	Keys  int           // that the limiter has to remember, where it has to be told
}

// Subject is a limiter to measure.
type Subject struct {
	Name string
	// Ours is set of headgate's own.
	Ours bool
	// Bounded is set where Setup.Keys bounds the memory.
	Bounded bool
	// Waits is set where Take never refuses, but sleeps. Its rate is not that of the Setup, but
	// as high as it may be, so that it does not sleep long.
	Waits bool
	// Open returns a new limiter without keys, and what ends it.
	Open func(Setup) (Limiter, func(), error)
}

// Reference is the name of the subject that the others are compared with.
const Reference = "headgate leaky"

// Subjects returns all subjects, headgate's first.
func Subjects() []Subject {
	return []Subject{
		leaky(), window(), sliding(), nginxZone(), sketched(),
		xtimeSyncMap(), xtimeMutexMap(),
		throttledMap(), throttledLRU(),
		goLimiter(), ululeLimiter(), tollboothLimiter(), uberLimiter(),
	}
}

// Find returns the subject of that name, false if there is none.
func Find(name string) (Subject, bool) {
	for _, s := range Subjects() {
		if s.Name == name {
			return s, true
		}
	}
	return Subject{}, false
}

// nothing ends a limiter that needs no end.
func nothing() {}
