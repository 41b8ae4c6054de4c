package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

// reader is a client that reads a stream in its own time.
type reader struct {
	*bufio.Scanner
	header  http.Header
	out     *io.PipeWriter
	flushed int
}

func (r *reader) Header() http.Header         { return r.header }
func (r *reader) WriteHeader(int)             {}
func (r *reader) Write(b []byte) (int, error) { return r.out.Write(b) }
func (r *reader) Flush()                      { r.flushed++ }

// listen opens a stream of a, in a bubble. It ends with ctx.
func listen(ctx context.Context, a *agentfake.Agent, target string, o admin.Options) *reader {
	in, out := io.Pipe()
	r := &reader{bufio.NewScanner(in), http.Header{}, out, 0}
	h := admin.NewHandler(a, o)
	go func() {
		h.ServeHTTP(r, httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil))
		_ = out.Close()
	}()
	synctest.Wait()
	return r
}

// next returns the next event.
func (r *reader) next(t *testing.T) (e event.Event) {
	t.Helper()
	if !r.Scan() {
		t.Fatalf("no line: %v", r.Err())
	}
	if err := json.Unmarshal(r.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// Events come as they happen, and where there are none a line says that all is well.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agentfake.Agent{}
		r := listen(t.Context(), a, "/v1/events", admin.Options{})
		if r.flushed != 1 || r.header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("before the first event: %d flushed, %v", r.flushed, r.header)
		}
		began := time.Now()
		for _, kind := range []event.Kind{event.Refused, event.HandedDown} {
			a.Bus.Publish(event.Event{Time: began, Kind: kind})
			if got := r.next(t); got.Kind != kind || time.Since(began) != 0 {
				t.Errorf("%s after %s", got.Kind, time.Since(began))
			}
			synctest.Wait()
		}
		if r.flushed != 3 {
			t.Errorf("%d flushed, want each event and the beginning", r.flushed)
		}
		for n := range 3 {
			got, want := r.next(t), began.Add(time.Duration(n+1)*admin.DefaultHeartbeat)
			if got.Kind != admin.Heartbeat || !got.Time.Equal(want) || !time.Now().Equal(want) {
				t.Errorf("%s at %s, %s; want %s", got.Kind, got.Time, time.Now(), want)
			}
		}
	})
}

// A reader that is slow makes nobody wait. It loses what has no room, and is told how much.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agentfake.Agent{}
		r := listen(t.Context(), a, "/v1/events", admin.Options{})
		const sent = 5000
		for n := range sent {
			a.Bus.Publish(event.Event{Kind: event.Refused, Count: uint64(n)})
			if n == 0 {
				synctest.Wait() // it is being written, so the queue is empty
			}
		}
		got := uint64(0)
		for r.next(t).Count < 1024 {
			got++
		}
		a.Bus.Publish(event.Event{Kind: event.Refused, Count: sent})
		last := r.next(t)
		got, lost := got+2, last.Lost
		if last.Count != sent || got+lost != sent+1 || lost != sent-1025 {
			t.Errorf("%d got, %d lost, the last %d", got, lost, last.Count)
		}
	})
}

// Of several kinds only those come that were asked for. What was lost is told by the next of these, once.
func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agentfake.Agent{}
		r := listen(t.Context(), a, "/v1/events?kind=adapted&kind=handdown", admin.Options{})
		tell := func(kind event.Kind, times int) {
			for range times {
				a.Bus.Publish(event.Event{Kind: kind})
			}
		}
		overflow := func(by int) { // while the stream waits for its reader
			tell(event.Adapted, 1)
			synctest.Wait()
			tell(event.Refused, 1024+by)
		}
		overflow(7)
		got := []event.Event{r.next(t)}
		synctest.Wait()
		tell(event.Dropped, 1) // is told of 7, and left out
		overflow(5)
		got = append(got, r.next(t))
		synctest.Wait()
		tell(event.Dropped, 1) // is told of 5
		tell(event.HandedDown, 2)
		got = append(got, r.next(t), r.next(t))
		want := []event.Event{{Kind: event.Adapted}, {Kind: event.Adapted, Lost: 7}, {Kind: event.HandedDown, Lost: 5}, {Kind: event.HandedDown}}
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		synctest.Wait()
	})
}

// A stream ends with its reader, or with the agent. Then another may begin.
func TestStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, closing := &agentfake.Agent{}, make(chan struct{})
		h := admin.NewHandler(a, admin.Options{Closing: closing})
		open := func(ctx context.Context) (done chan int) {
			done = make(chan int, 1)
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events", nil))
				done <- w.Code
			}()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		var streams []chan int
		for range 16 {
			streams = append(streams, open(ctx))
		}
		if code := <-open(ctx); code != http.StatusServiceUnavailable {
			t.Errorf("the 17th: %d", code)
		}
		cancel()
		for _, s := range streams {
			if code := <-s; code != http.StatusOK {
				t.Error(code)
			}
		}
		last := open(t.Context())
		close(closing)
		if code := <-last; code != http.StatusOK {
			t.Error(code)
		}
	})
}

// A reader that is gone ends its stream at the next line.
func TestReaderIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agentfake.Agent{}
		in, out := io.Pipe()
		r := &reader{bufio.NewScanner(in), http.Header{}, out, 0}
		_ = in.CloseWithError(errors.New("connection reset"))
		admin.NewHandler(a, admin.Options{}).ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/v1/events", nil))
	})
}
