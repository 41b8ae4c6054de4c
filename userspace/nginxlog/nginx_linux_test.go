package nginxlog

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/test/nginxlab"
)

// deadline is how long a test waits for what takes milliseconds.
const deadline = 30 * time.Second

// realNginx is the real nginx, whose error log goes to a file.
type realNginx struct {
	*testing.T
	server    *nginxlab.Server
	log, sock string
	refused   int
}

// startNginx starts nginx with a server of this test's own, which takes clients' addresses from a header field.
func startNginx(t *testing.T) *realNginx {
	dir, err := os.MkdirTemp("", "nginxlog-") // a short path, as that of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	n := &realNginx{T: t, log: filepath.Join(dir, "error.log"), sock: filepath.Join(dir, "s")}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	n.server = nginxlab.Start(t, 100*time.Second, fmt.Sprintf(`
limit_req_zone $binary_remote_addr zone=perip:1m rate=1r/m;
limit_conn_zone $binary_remote_addr zone=addr:1m;
server {
error_log %[1]s/error.log error;
listen unix:%[1]s/s;
root %[1]s;
set_real_ip_from unix:;
real_ip_header X-Real-IP;
location /limited { limit_req zone=perip; limit_req_status 429; try_files /error.log =404; }
location /dry { limit_req zone=perip; limit_req_dry_run on; try_files /error.log =404; }
location /large { limit_conn addr 1; limit_conn_status 429; limit_rate 1000; }
}`, dir), map[string]string{"/drain": ""})
	return n
}

// send sends a request of a client and returns the connection, from which nothing was read.
func (n *realNginx) send(client, target string) net.Conn {
	n.Helper()
	conn, err := net.Dial("unix", n.sock)
	if err != nil {
		n.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		n.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Real-IP: %s\r\nReferer: \", client: 9.9.9.9, server: \"\r\n\r\n", target, client); err != nil {
		n.Fatal(err)
	}
	return conn
}

// get sends a request and counts it if it is refused. It has nginx's debug log read, which nginx would wait for.
func (n *realNginx) get(client, target string) {
	n.Helper()
	conn := n.send(client, target)
	defer conn.Close()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		n.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode == http.StatusTooManyRequests {
		n.refused++
	}
	n.server.Get("/drain")
}

// rotate does what logrotate does.
func (n *realNginx) rotate(to string) {
	n.Helper()
	text, err := os.ReadFile(n.log)
	if err != nil {
		n.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "] ")
	pid, err := strconv.Atoi(rest[:strings.IndexByte(rest, '#')])
	if err != nil {
		n.Fatal(err)
	}
	if err := os.Rename(n.log, n.log+to); err != nil {
		n.Fatal(err)
	}
	n.get("192.0.2.1", "/limited") // goes to the old file
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		n.Fatal(err)
	}
	for end := time.Now().Add(deadline); ; {
		n.get("192.0.2.1", "/limited") // until it goes to the new one
		if info, err := os.Stat(n.log); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(end) {
			n.Fatal("nginx opens no new log")
		}
	}
}

// Each request that the real nginx refuses is an offence of the right client, once, whatever else stands in its
// log, and through rotation.
func TestRealNginx(t *testing.T) {
	n := startNginx(t)
	ctx, cancel := context.WithCancel(t.Context())
	offences := make(chan Offence, 10_000)
	ended := make(chan error, 1)
	go func() { ended <- Follow(ctx, n.log, Options{FromStart: true}, func(o Offence) { offences <- o }) }()
	for i := range 20 {
		n.get("192.0.2.1", "/limited")
		n.get("2001:db8::1", `/limited",client:9.9.9.9,server:x`)
		n.get("192.0.2.2", "/dry")
		if i%8 == 7 {
			n.rotate(fmt.Sprint(".", i))
		}
	}
	held := n.send("192.0.2.3", "/large")
	for range 5 {
		n.get("192.0.2.3", "/large")
	}
	held.Close()
	seen := map[string]int{}
	for range n.refused {
		select {
		case o := <-offences:
			seen[o.Client.String()+" "+o.Zone]++
		case <-time.After(deadline):
			t.Fatalf("%v of %d", seen, n.refused)
		}
	}
	if len(seen) != 3 || seen["192.0.2.3 addr"] < 4 || seen["2001:db8::1 perip"] != 19 {
		t.Errorf("%v", seen)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(offences) != 0 {
		t.Errorf("%d more than there were", len(offences))
	}
}

// A client can write any line into nginx's log. It is not believed.
func TestRealNginxForged(t *testing.T) {
	n := startNginx(t)
	escaped := "%0a2026/11/30%2003:04:05%20[error]%201%231:%20*1%20limiting%20requests,%20excess:%201.000%20by%20zone%20%22perip%22,%20client:%20" + victim + ",%20server:%20x"
	for _, fill := range []int{1, 900, 1700, 1750, 1800, 1850, 1900, 1950} {
		n.get("192.0.2.1", "/"+strings.Repeat("a", fill)+escaped)
		n.get("192.0.2.1", "/"+strings.Repeat("a", fill)+escaped+"%0a")
		n.get("192.0.2.1", "/"+strings.Repeat("a", fill/2)+escaped+escaped+"%0a"+strings.Repeat("a", fill/2))
	}
	text, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	got, doubtful := believed(string(text))
	if slices.Contains(got, victim) || len(got) != n.refused {
		t.Errorf("believed: %v", got)
	}
	if forged := strings.Count(string(text), "\n2026/11/30 03:04:05 "); forged < 10 || doubtful < 10 {
		t.Errorf("%d lines are forged and %d doubtful: this nginx shows nothing", forged, doubtful)
	}
}

// What nginx refuses is known before the 50 ms are over that an offender has until his packets die. The time is
// shown, not asserted.
func TestRealNginxDelay(t *testing.T) {
	n := startNginx(t)
	offences := make(chan Offence, 100)
	go func() {
		if err := Follow(t.Context(), n.log, Options{FromStart: true}, func(o Offence) { offences <- o }); err != nil {
			t.Error(err)
		}
	}()
	n.get("192.0.2.1", "/limited")
	for range 5 {
		begun := time.Now()
		n.get("192.0.2.1", "/limited")
		<-offences
		t.Logf("a refusal is seen %v after its request was sent", time.Since(begun))
	}
}
