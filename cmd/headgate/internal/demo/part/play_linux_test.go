package part_test

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/part"
)

// player plays a part until the test ends.
type player struct {
	t      *testing.T
	orders *io.PipeWriter
	told   *bufio.Scanner
	ended  chan error
}

func play(t *testing.T, name string, s part.Script) *player {
	t.Helper()
	orders, order := io.Pipe()
	told, tell := io.Pipe()
	p := &player{t: t, orders: order, told: bufio.NewScanner(told), ended: make(chan error, 1)}
	go func() {
		err := part.Play(name, s, orders, tell)
		tell.Close()
		p.ended <- err
	}()
	t.Cleanup(func() {
		order.Close()
		for p.told.Scan() { // what is left
		}
		if err := <-p.ended; err != nil {
			t.Errorf("%s ended with %v", name, err)
		}
	})
	return p
}

func (p *player) order(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.orders, text+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// tells reads one line.
func (p *player) tells(v any) {
	p.t.Helper()
	if !p.told.Scan() {
		p.t.Fatalf("nothing more is told: %v", p.told.Err())
	}
	if err := json.Unmarshal(p.told.Bytes(), v); err != nil {
		p.t.Fatal(err)
	}
}

// rest reads what is told until the client is done.
func (p *player) rest() (passed, refused int) {
	p.t.Helper()
	for {
		var s part.Seen
		if p.tells(&s); s.Done {
			return passed, refused
		}
		p.check(s)
		passed += s.Passed
		refused += s.Refused
	}
}

func (p *player) check(s part.Seen) {
	p.t.Helper()
	if s.Start <= 0 || s.End <= s.Start || s.Cut+s.Knocks+s.Entered > 0 {
		p.t.Errorf("told %+v", s)
	}
}

// proxy passes the first requests, and refuses the others.
type proxy struct {
	first, passed, refused atomic.Int64
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("RateLimit-Policy", `"perip";q=21;w=1`)
	if p.first.Add(-1) >= 0 {
		h.Set("RateLimit", `"perip";r=3;t=1`)
		p.passed.Add(1)
		return
	}
	p.refused.Add(1)
	h.Set("RateLimit", `"perip";r=0;t=1`)
	h.Set("Retry-After", "1")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusTooManyRequests)
}

func serve(t *testing.T, h http.Handler) part.Script {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return part.Script{
		From: netip.MustParseAddr("127.0.0.1"), Server: s.Listener.Addr().(*net.TCPAddr).AddrPort(),
		Limit: part.Limit{Zone: "perip", Quota: 21, Window: 1},
	}
}

// A client counts what the server does, each time that it begins again.
func TestClients(t *testing.T) {
	for _, name := range []string{part.Flooder, part.Visitor} {
		t.Run(name, func(t *testing.T) {
			server := new(proxy)
			server.first.Store(5)
			p := play(t, name, serve(t, server))
			var passed, refused int
			for range 2 {
				p.order(part.Begin)
				for range 6 {
					var s part.Seen
					p.tells(&s)
					p.check(s)
					if len(s.Wrong) > 0 {
						t.Errorf("wrong are %q", s.Wrong)
					}
					passed, refused = passed+s.Passed, refused+s.Refused
				}
				p.order(part.Stop)
				more, moreRefused := p.rest()
				passed, refused = passed+more, refused+moreRefused
			}
			if passed != 5 || int64(passed) != server.passed.Load() || int64(refused) != server.refused.Load() || refused < 7 {
				t.Errorf("%d passed and %d were refused, the server says %d and %d", passed, refused, server.passed.Load(), server.refused.Load())
			}
		})
	}
}

func TestClientTellsWhatIsWrong(t *testing.T) {
	p := play(t, part.Visitor, serve(t, http.NotFoundHandler()))
	p.order(part.Begin)
	var s part.Seen
	p.tells(&s)
	if wrong := strings.Join(s.Wrong, "; "); !strings.Contains(wrong, "status 404") || s.Passed+s.Refused > 0 {
		t.Errorf("told %+v", s)
	}
	p.order(part.Stop)
	for !s.Done {
		p.tells(&s)
	}
}

// A time of the boot clock that is over is as good as now.
func TestStopAt(t *testing.T) {
	p := play(t, part.Visitor, serve(t, new(proxy)))
	p.order(part.Begin)
	p.order(part.Stop + " 1")
	p.rest()
}

func TestBackend(t *testing.T) {
	on, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	at := on.Addr().(*net.TCPAddr).AddrPort()
	on.Close()
	p := play(t, part.Backend, part.Script{Server: at})
	var counted part.Counted
	if p.tells(&counted); len(counted) > 0 {
		t.Errorf("counted %v at the beginning", counted)
	}
	for _, client := range []string{"203.0.113.66", "203.0.113.7", "203.0.113.66"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", client)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	p.order(part.Count)
	p.tells(&counted)
	if want := (part.Counted{"203.0.113.66": 2, "203.0.113.7": 1}); !maps.Equal(counted, want) {
		t.Errorf("counted %v, want %v", counted, want)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestUnknownPart(t *testing.T) {
	if err := part.Play("prompter", part.Script{}, strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), `"prompter"`) {
		t.Errorf("error %v", err)
	}
}
