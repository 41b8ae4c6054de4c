package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// After the start all threads have the capabilities that the configuration needs, and no others.
func TestAgentGivesUpPrivileges(t *testing.T) {
	t.Parallel()
	const netAdmin, bpf, lowPorts, readAll = 1 << 12, 1 << 39, 1 << 10, 1 << 2
	for name, tt := range map[string]struct {
		text string
		want uint64
	}{
		"without kernel section": {unlimited, 0},
		"kernel":                 {unlimited + "kernel: {interfaces: [IFACE], max_sources: 4096}\n", netAdmin | bpf},
		"a low port":             {strings.Replace(unlimited, ":8080", ":80", 1), lowPorts},
		"logs of nginx": {
			"kernel: {interfaces: [IFACE], max_sources: 4096}\nhanddown: {nginx_logs: [DIR/error.log]}\nmetrics: {listen: \"127.0.0.1:9090\"}\n",
			netAdmin | bpf | readAll,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.startBackend(nil)
			socket, told := s.notifications()
			s.configure(tt.text)
			a := s.agent()
			a.with("NOTIFY_SOCKET=" + socket)
			a.start()
			told.await(t, "READY=1")
			a.wantCapabilities(tt.want)
			a.reload(tt.text + "# again\n") // still possible
			a.wantCapabilities(tt.want)
		})
	}
}

// wantCapabilities checks those of all threads.
func (a *agent) wantCapabilities(want uint64) {
	a.site.tb.Helper()
	threads, err := os.ReadDir(filepath.Join("/proc", itoa(a.Process.Pid), "task"))
	if err != nil {
		a.site.tb.Fatal(err)
	}
	seen := 0
	for _, thread := range threads {
		status := a.procStatus(atoi(a.site.tb, thread.Name()))
		if status == nil {
			continue
		}
		seen++
		for _, set := range []string{"CapEff", "CapPrm"} {
			if got := parseHex(a.site.tb, status[set]); got != want {
				a.site.tb.Errorf("%s of a thread is %#x, want %#x", set, got, want)
			}
		}
		for _, set := range []string{"CapInh", "CapAmb"} {
			if got := parseHex(a.site.tb, status[set]); got != 0 {
				a.site.tb.Errorf("%s of a thread is %#x, want 0", set, got)
			}
		}
	}
	if seen < 3 {
		a.site.tb.Errorf("%d threads, want some", seen)
	}
}

// Without a kernel section nobody needs a privilege; with one who has none is told what is missing.
func TestAgentWithoutPrivileges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	if err := os.Chmod(s.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	as := func(a *agent) *agent {
		a.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return a
	}
	s.configure(serving)
	a := as(s.agent())
	a.start()
	a.awaitInForce()
	s.browser(modest).wantStatuses(4, 2)
	a.wantCapabilities(0)
	s.must("reload")
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, a.log)
	}
	s.configure(both("1", ""))
	a = as(s.agent())
	a.start()
	if r := a.wait(); r.code != 1 {
		t.Errorf("exit %d, want 1", r.code)
	}
	a.wantLines(1, "headgate: ", "CAP_BPF", "CAP_NET_ADMIN", "sudo")
}

// Who may not look at what is attached does not take it for another program: that somebody were to remove what protects him.
func TestAgentWithoutPrivilegesBesideAnInstance(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.must("attach", s.dev(), "--max-sources", "4096")
	s.configure("kernel: {interfaces: [IFACE], max_sources: 4096}\n")
	a := s.agent()
	a.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	a.start()
	if r := a.wait(); r.code != 1 {
		t.Errorf("exit %d, want 1", r.code)
	}
	a.wantLines(1, "headgate: ", "CAP_BPF", "CAP_NET_ADMIN", "sudo")
	a.wantLines(0, "another")
	a.wantLines(0, "remove")

	attach := s.command("attach", s.dev())
	attach.SysProcAttr = a.SysProcAttr
	attach.run().wantError(t, 1, "CAP_BPF")
}

func atoi(tb testing.TB, text string) int {
	tb.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func parseHex(tb testing.TB, text string) uint64 {
	tb.Helper()
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
