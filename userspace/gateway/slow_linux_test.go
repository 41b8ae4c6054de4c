package gateway

import (
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// Slow clients, who each send the beginning of a header and no more, cost bounded memory, and a good one is served among
// them. There are 10,000, or as many as the process may open files for, of which each needs two here.
func TestSlowloris(t *testing.T) {
	slowClients := min(10_000, (Files()-1000)/2)
	l := loopback(t, config.Listener{})
	s := run(t, l, http.HandlerFunc(who), ServerOptions{MaxConns: slowClients + 10})
	before := memory()
	for range slowClients {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\nA: "); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(time.Minute); s.conns.len() < slowClients && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if g := do(t, client(t, &http.Transport{}), http.MethodGet, "http://"+l.Addr().String(), ""); g.status != http.StatusOK {
		t.Errorf("status %d", g.status)
	}
	each := (memory() - before) / uint64(slowClients)
	t.Logf("%d clients: %d bytes each, of which the test's own end has some hundred; resident %s", slowClients, each, resident(t))
	if each > 24<<10 {
		t.Errorf("a slow client costs %d bytes, want at most 24 KiB", each)
	}
}

// memory returns what the heap and stacks have in use.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// resident returns how much memory the process has.
func resident(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(pages*os.Getpagesize()>>20) + " MiB"
}
