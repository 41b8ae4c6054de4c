package agent_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/admin"
)

// Interfaces are told of as the kernel has them now: one that is not there does not keep the agent from starting, and what was
// detached by hand is attached to by a reload.
func TestStatusOfInterfaces(t *testing.T) {
	l := newLab(t, "kernel: {interfaces: [lab0, lab1]}\n")
	l.kernel.missing = []string{"lab1"}
	l.start()
	want := func(when string, want ...admin.Interface) {
		t.Helper()
		if diff := cmp.Diff(want, l.agent.Status().Interfaces); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	attached := func(name string) admin.Interface {
		return admin.Interface{Name: name, State: admin.Attached, Mode: "native"}
	}
	want("at the start", attached("lab0"), admin.Interface{Name: "lab1", State: admin.Missing})
	l.kernel.do(func() { l.kernel.detached, l.kernel.missing = []string{"lab0"}, nil })
	want("detached by hand", admin.Interface{Name: "lab0", State: admin.Detached}, attached("lab1"))
	if err := l.agent.Reload(); err != nil {
		t.Fatal(err)
	}
	want("after a reload", attached("lab0"), attached("lab1"))
	l.kernel.do(func() { l.kernel.unseen = errors.New("no bpffs") })
	unknown := func(name string) admin.Interface { return admin.Interface{Name: name, State: admin.NotKnown} }
	want("who cannot look", unknown("lab0"), unknown("lab1"))
	l.reload("kernel: {interfaces: [lab2]}\n")
	l.kernel.do(func() { l.kernel.unseen, l.kernel.missing = nil, []string{"lab2"} })
	want("the only one is missing", admin.Interface{Name: "lab2", State: admin.Missing})
}

func TestStatusOfTheFile(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	for range 2 {
		text, err := os.ReadFile(l.path("headgate.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got, want := l.agent.Status().Config.SHA256, hex.EncodeToString(sum[:]); got != want {
			t.Errorf("SHA-256 %s, want %s", got, want)
		}
		l.reload(limited("http://127.0.0.1:1", "1"))
	}
}

// Of a server that nobody asks it is not said that it is well.
func TestStatusOfServers(t *testing.T) {
	upstream := backend(t, ok)
	l := newLab(t, limited(upstream, "0"))
	l.start()
	want := func(health string) {
		t.Helper()
		if s := l.agent.Status().Upstream; len(s) != 1 || s[0].Health != health || !s[0].Healthy || s[0].Error != "" {
			t.Errorf("servers are %+v, want one that is %s", s, health)
		}
	}
	want(admin.NotAsked)
	l.reload(strings.Replace(limited(upstream, "0"), `upstream: ["`+upstream+`"]`, `upstream: {servers: ["`+upstream+`"], health: {path: /}}`, 1))
	want(admin.Healthy)
	l.reload(limited("http://127.0.0.1:1", "0"))
	l.statuses(1, "X-Forwarded-For", "192.0.2.9")
	if s := l.agent.Status().Upstream; len(s) != 1 || !strings.Contains(s[0].Error, "connection refused") {
		t.Errorf("servers are %+v, want one that has refused a connection", s)
	}
}

// line is one of nginx's error log.
func line(client string) string {
	return fmt.Sprintf("2026/01/02 03:04:05 [error] 6#6: *9 limiting requests, excess: 0.500 by zone \"one\", client: %s, "+
		"server: _, request: \"GET / HTTP/1.1\", host: \"a\"\n", client)
}

// Another log is followed after a reload, and the one before is not. Which cannot be read is in the status and the metrics.
func TestLogsOfNginxChange(t *testing.T) {
	text := func(logs string) string {
		return "kernel: {interfaces: [lab0]}\nmetrics: {listen: \"unix:DIR/metrics.sock\"}\n" +
			"handdown: {after: 1, within: 10s, action: block, for: 1m, nginx_logs: [" + logs + "]}\n"
	}
	write := func(l *lab, name, text string) {
		t.Helper()
		f, err := os.OpenFile(l.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l := newLab(t, text("DIR/a.log"))
	l.start()
	unread := func(name string) func() bool {
		return func() bool {
			logs := l.agent.Status().NginxLogs
			return len(logs) == 1 && logs[0].Path == l.path(name) && strings.Contains(logs[0].Error, "error_log")
		}
	}
	eventually(t, "a.log is missed", unread("a.log"))
	if body := bodyOf(l.get("metrics.sock", "/metrics")); !strings.Contains(body, "headgate_handdown_log_readable{log=\""+l.path("a.log")+"\"} 0") {
		t.Errorf("no such series:\n%s", body)
	}
	handed := func(source string) func() bool {
		return func() bool {
			rules := l.kernel.rules()
			return len(rules) > 0 && rules[len(rules)-1].Prefix.Addr().String() == source
		}
	}
	write(l, "a.log", line("203.0.113.1"))
	eventually(t, "a.log is read", handed("203.0.113.1"))
	if logs := l.agent.Status().NginxLogs; len(logs) != 1 || logs[0].Error != "" {
		t.Errorf("logs are %+v", logs)
	}

	l.reload(text("DIR/b.log"))
	eventually(t, "b.log is missed", unread("b.log"))
	write(l, "a.log", line("203.0.113.2"))
	write(l, "b.log", line("203.0.113.3"))
	eventually(t, "b.log is read", handed("203.0.113.3"))
	if rules := l.kernel.rules(); len(rules) != 2 {
		t.Errorf("rules are %+v: a.log is still read", rules)
	}
}
