package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/dialed"
	"github.com/headgate/headgate/userspace/httplimit"
)

// BenchmarkProxied passes requests on through headgate's server, limiter and proxy, and by turns through a bare
// httputil.ReverseProxy with the same transport. The ratio is that of requests per second, the median of all pairs.
func BenchmarkProxied(b *testing.B) {
	server := backend(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1000)) })
	limited := httplimit.New(rules(b, 0, func(h *config.HTTP) {
		h.Zones[0].Quota = config.Quota{Count: 1e8, Per: time.Second, Text: "100Mr/s"}
		h.Rules[0].Limits[0].Burst, h.Rules[0].Limits[0].Delay = 1e6, 1e6
	}), httplimit.Options{})
	ours := newLoad(b, serveProxy(b, limited(newTestProxy(b, upstream(server), ProxyOptions{}))))
	bare := newLoad(b, serveBare(b, server))
	ours.run(b)
	bare.run(b)
	var took, tookBare spent
	var ratios []float64 // of pairs: others on the machine disturb some of them
	for b.Loop() {
		theirs, mine := measure(func() { bare.run(b) }), measure(func() { ours.run(b) })
		took.add(mine)
		tookBare.add(theirs)
		ratios = append(ratios, float64(theirs.time)/float64(mine.time))
	}
	slices.Sort(ratios)
	requests := float64(b.N * loadConns * loadRequests)
	b.ReportMetric(float64(took.cpu)/requests, "cpu-ns/request")
	b.ReportMetric(float64(tookBare.cpu)/requests, "cpu-ns/bare-request")
	b.ReportMetric(float64(tookBare.cpu)/float64(took.cpu), "cpu-ratio")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

// spent is what something took: until it was done, and of all CPUs.
type spent struct{ time, cpu time.Duration }

func (s *spent) add(more spent) { s.time, s.cpu = s.time+more.time, s.cpu+more.cpu }

func measure(f func()) spent {
	began, cpu := time.Now(), cpuTime()
	f()
	return spent{time.Since(began), cpuTime() - cpu}
}

// cpuTime returns what the process has used so far.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serveBare serves a httputil.ReverseProxy by a http.Server.
func serveBare(b *testing.B, target *url.URL) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	transport := newTransport(time.Minute, new(dialed.Addrs))
	transport.DialContext = nil
	s := &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
		},
		Transport:  transport,
		BufferPool: new(buffers),
	}}
	go func() { _ = s.Serve(l) }()
	b.Cleanup(func() {
		_ = s.Close()
		transport.CloseIdleConnections()
	})
	return "http://" + l.Addr().String()
}

// A load is loadConns connections that send loadRequests requests each, one after the other.
type load []*bufio.ReadWriter

const loadConns, loadRequests = 16, 10

func newLoad(b *testing.B, at string) (l load) {
	for range loadConns {
		conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		l = append(l, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)))
	}
	return l
}

func (l load) run(b *testing.B) {
	var all sync.WaitGroup
	for _, conn := range l {
		all.Go(func() {
			for range loadRequests {
				if err := askOnce(conn); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// askOnce sends a request and reads the response, with little work of its own.
func askOnce(conn *bufio.ReadWriter) error {
	if _, err := conn.WriteString("GET /path?a=b HTTP/1.1\r\nHost: example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"); err != nil {
		return err
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	for {
		line, err := conn.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			_, err := conn.Discard(1000)
			return err
		}
	}
}
