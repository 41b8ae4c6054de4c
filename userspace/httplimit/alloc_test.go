//go:build !race

// With the race detector sync.Pool forgets some of what is put into it, on purpose.

package httplimit

import (
	"net/http"
	"testing"
	"time"
)

// unwritten is a response that nobody reads.
type unwritten struct{ header http.Header }

func (u unwritten) Header() http.Header         { return u.header }
func (u unwritten) Write(p []byte) (int, error) { return len(p), nil }
func (u unwritten) WriteHeader(int)             {}

// What a request costs does not grow with the fields and words that it is answered with: they have a text and a list.
func TestAllocations(t *testing.T) {
	now := time.Hour
	middleware, err := PerIP("1r/h", 0, Options{Clock: func() time.Duration { return now }})
	if err != nil {
		t.Fatal(err)
	}
	h := middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w := unwritten{http.Header{}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:1"
	serve := func() { clear(w.header); h.ServeHTTP(w, r) }
	serve()
	if got := testing.AllocsPerRun(1000, serve); got != 2 {
		t.Errorf("%v allocations for a refusal, want 2", got)
	}
	passing := func() { now += time.Hour; serve() }
	if got := testing.AllocsPerRun(1000, passing); got != 2 {
		t.Errorf("%v allocations for a request that passes, want 2", got)
	}
}
