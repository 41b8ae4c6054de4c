package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/need"
)

// TestBadInput calls headgate wrongly in every way that it knows. Each is told in one line, and
// changes nothing, neither of an instance nor where there is none.
func TestBadInput(t *testing.T) {
	tests := []struct {
		args string
		code int
		want string
	}{
		{"attach nosuch --rate 1kpps", 1, `no such interface: "nosuch"; there are far0, far1, lo`},
		{"attach far0 nosuch --rate 1kpps", 1, `no such interface: "nosuch"`},
		{"attach", 2, "name at least one interface; use: headgate attach"},
		{"attach far0 --rate 10", 2, `rate "10": no unit; use 500pps`},
		{"attach far0 --rate 10kps", 2, `rate "10kps"`},
		{"attach far0 --rate 10Mbit/s", 2, "10Mbit/s"},
		{"attach far0 --bandwidth 10kpps", 2, "10kpps"},
		{"attach far0 --rate -5pps", 2, `"-5pps"`},
		{"attach far0 --rate 0pps", 2, "a rate of 0 would let nothing pass"},
		{"attach far0 --rate 0pps", 2, "`headgate block`"},
		{"attach far0 --rate 10pps --burst 0", 2, "--burst 0 would let nothing pass"},
		{"attach far0 --burst 5k --rate off", 2, "--burst needs a rate"},
		{"attach far0 --rate 1kpps --ipv4-prefix 64", 2, "--ipv6-prefix is the one for IPv6"},
		{"attach far0 --rate 1kpps --ipv4-prefix -1", 2, "use 0 to 32"},
		{"attach far0 --rate 1kpps --ipv6-prefix 129", 2, "use 0 to 128"},
		{"attach far0 --rate 1kpps --mode fast", 2, `mode "fast": use auto, native or generic`},
		{"attach far0 --rate 1kpps --overflow maybe", 2, `overflow "maybe": use estimate, pass or drop`},
		{"attach far0 --rate 1kpps --overflow shared", 2, `overflow "shared" is no more: use estimate`},
		{"attach far0 --rate 1kpps --overflow shared", 2, "--key shared --unverified"},
		{"attach far0 --rate 1kpps --heat-memory 8KiB", 2, "--heat-memory 8KiB: use 16KiB to 1GiB"},
		{"attach far0 --rate 1kpps --heat-memory 2GiB", 2, "--heat-memory 2GiB: use 16KiB to 1GiB"},
		{"attach far0 --rate 1kpps --heat-memory much", 2, `--heat-memory: size "much"`},
		{"attach far0 --rate 1kpps --max-sources 0", 2, "above 0"},
		{"attach far0 --rate 1kpps --try 10ms", 2, "at least 1s"},
		{"attach far0 --rate 1kpps -o xml", 2, `output "xml"`},
		{"attach far0 --frobnicate", 2, "unknown flag: --frobnicate"},
		{"frobnicate", 2, `unknown command "frobnicate"`},
		{"blok 10.0.0.1", 2, "perhaps you mean block"},
		{"detach", 2, "name the interfaces"},
		{"detach far0 --all", 2, "not both"},
		{"set default", 2, "set what?"},
		{"set 10.0.0.0/8 --rate 0pps", 2, "a rate of 0"},
		{"set 10.0.0.0/33 --rate 1pps", 2, "/33 is not 0 to 32"},
		{"set default --overflow maybe", 2, "use estimate, pass or drop"},
		{"set 10.0.0.0/8 --overflow drop", 2, "set what?"},
		{"set 10.0.0.0/8 --rate 1pps --overflow drop", 2, "takes no --overflow"},
		{"policy set dns --port 53 --rate 1pps --overflow maybe", 2, "use estimate, pass or drop"},
		{"set default --rate 1kpps --for 5s", 2, "takes no --for"},
		{"unset default 10.0.0.1", 2, "unset default stands alone"},
		{"unset default --file x", 2, "unset default stands alone"},
		{"block", 2, "at least one address"},
		{"block 10.0.0", 2, `prefix "10.0.0"`},
		{"block fe80::1%eth0", 2, `leave out the zone "eth0"`},
		{"block 10.0.0.1 10.0.0.0/40", 2, "/40 is not 0 to 32"},
		{"block 10.0.0.1 --for -1s", 2, "above 0"},
		{"block --file /nonexistent", 1, "/nonexistent: no such file"},
		{"policy set default --rate 1kpps", 2, "headgate set default"},
		{"policy set BAD --rate 1kpps", 2, `policy name "BAD"`},
		{"policy set x --port 53", 2, "has no limit"},
		{"policy set x --port 9-5 --rate 1kpps", 2, "ends before it starts"},
		{"policy set x --proto icmp --port 5 --rate 1kpps", 2, "has no ports"},
		{"policy set x --proto bogus --rate 1kpps", 2, `--proto "bogus"`},
		{"policy set x --key both --rate 1kpps", 2, `--key "both"`},
		{"policy delete default", 2, "the default policy stays"},
		{"set 10.0.0.0/8 --rate 1kpps --policy nosuch", 2, `no such policy: "nosuch"`},
		{"policy set dns-again --proto udp --port 53 --rate 9pps", 1, `matches the same packets exists: "p1"`},
		{"policy set ninth --port 9 --rate 9pps", 1, "8 is the most"},
		{"policy delete p2", 1, `a limit of its own for 192.0.2.0/24; unset that before`},
		{"set 2001:db8:1:2::1 --rate 5pps", 2, "so 2001:db8:1:2::1/128 is a part of one: limit 2001:db8:1:2::/64, or attach with --ipv6-prefix 128"},
		{"set 2001:db8:1:2::/65 --rate off --policy p2", 2, "IPv6 sources are /64 here"},
		{"attach far0 --ipv4-prefix 23", 2, "--ipv4-prefix 23: 192.0.2.0/24 has a limit of its own and would be a part of a source; use 24 or more"},
		{"attach far0 --ipv6-prefix 63 --try 1m", 2, "--ipv6-prefix 63: 2001:db8::/64 has a limit of its own"},
		{"set 192.0.2.0/24 --rate 5pps", 1, `a limit for the policy "p2"`},
		{"attach far0 --mode generic", 1, "attached in native mode; detach it first"},
	}
	l := newLab(t)
	l.attach("--rate", "1kpps")
	for n := range 7 {
		l.must("policy", "set", fmt.Sprintf("p%d", n+1), "--proto", "udp", "--port", fmt.Sprint(53+n), "--rate", "5pps")
	}
	l.must("set", "192.0.2.0/24", "--rate", "1pps", "--policy", "p2")
	l.must("set", "2001:db8::/64", "--rate", "1kpps")
	l.must("set", "fe80::1", "--rate", "1kpps") // link-local sources are not cut
	l.must("block", modest, "--for", "1h")
	none := l.beside(pairTwo(), l.pin+"-none")
	before := l.state()
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			args := strings.Fields(tt.args)
			l.run(args...).wantError(t, tt.code, tt.want)
			r := none.run(args...)
			if code := r.code; code != 1 && code != 2 || len(r.errorLines()) != 1 {
				t.Errorf("without an instance: exit %d and %q, want 1 or 2 and one line", code, r.stderr)
			}
			none.wantNoInstance()
		})
	}
	l.wantState(before)
}

// TestTakenAsMeant has input that is unusual and not wrong: it is done, and said aloud.
func TestTakenAsMeant(t *testing.T) {
	l := newLab(t)
	down := l.beside(pairTwo(), l.pin)
	err := l.pair.Far.Namespace.Do(func() error {
		iface, err := netlink.LinkByName(down.dev())
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(iface)
	})
	if err != nil {
		t.Fatal(err)
	}
	r := l.must("attach", down.dev(), "--max-sources", "64")
	r.wantNote(t, "far1 is down; the limit holds as soon as it comes up")
	r.wantNote(t, "no source is limited yet")
	if !strings.Contains(r.stderr, "raised --max-sources from 64 to 4096") {
		t.Errorf("nothing of the small table in %q", r.stderr)
	}
	l.must("set", "203.0.113.5/24", "--rate", never).wantNote(t, "203.0.113.5/24 has host bits set, taken as 203.0.113.0/24")
	l.must("allow", modest)
	l.must("block", modest).wantNote(t, "has an allow rule too, which goes first")
	l.must("block", "::ffff:192.0.2.9")
	l.must("block", "2001:db8::1", "--for", "1m") // of a part of a source: only a limit would split it
	l.must("attach", down.dev(), "--ipv4-prefix", "24", "--ipv6-prefix", "48")
	l.must("unset", "2001:db8::1")
	l.must("attach", down.dev(), "--max-rules", "7").wantNote(t, "keeps its size")
	l.must("set", "default", "--bandwidth", "1MB/s", "--bandwidth-burst", "100").wantNote(t, "no packet larger than that")
	var got []string
	for _, r := range l.rules() {
		got = append(got, r.Action+" "+r.Prefix)
	}
	want := "[block 192.0.2.9/32 allow 198.51.100.20/32 block 198.51.100.20/32 limit 203.0.113.0/24]"
	if fmt.Sprint(got) != want {
		t.Errorf("rules %v, want %s", got, want)
	}
}

// TestSaysWhatHolds has verbs say what might be overlooked in what they did.
func TestSaysWhatHolds(t *testing.T) {
	l := newLab(t)
	l.attach("--dry-run")
	for _, tt := range []struct{ args, want string }{
		{"policy set dns --proto udp --port 53 --rate 5pps", "policy dns: 5pps, burst 5; dry run: it drops nothing"},
		{"attach far0 --dry-run=false", "no dry run: what is over a limit is dropped"},
		{"policy set dns --rate 6pps", "policy dns: 6pps, burst 6\n"},
		{"policy set dns --dry-run", "policy dns: 6pps, burst 6; dry run: it drops nothing"},
		{"set 203.0.113.0/24 --policy dns --rate 500pps --for 10m", "limited 203.0.113.0/24 to 500pps, burst 500 in policy dns for 10m\n"},
		{"set 198.51.100.0/24 --rate 5pps --for 1h30m", "limited 198.51.100.0/24 to 5pps, burst 5 for 1h30m\n"},
	} {
		if got := l.must(strings.Fields(tt.args)...).stdout; !strings.Contains(got, tt.want) {
			t.Errorf("%s prints %q, want %q", tt.args, got, tt.want)
		}
	}
}

// TestNoRoot runs every command as a user who may do nothing.
func TestNoRoot(t *testing.T) {
	l := newLab(t)
	l.attach()
	before := l.state()
	for _, args := range []string{
		"attach far0 --rate 1kpps", "detach far0", "detach --all", "block 10.0.0.1", "set default --rate 5pps",
		"unset 10.0.0.1", "policy set x --port 53 --rate 5pps", "policies", "rules", "status", "stats", "top --once", "events",
	} {
		c := l.command(strings.Fields(args)...)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		c.run().wantError(t, 1, "not permitted: headgate needs CAP_BPF and CAP_NET_ADMIN")
	}
	l.wantState(before)
}

// TestNoBPFFS gives directories that cannot hold an instance.
func TestNoBPFFS(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir()
	r := l.run("--pin", filepath.Join(dir, "hg"), "attach", l.dev(), "--rate", "1kpps")
	r.wantError(t, 1, "is not on a bpf file system; mount one there with `mkdir -p "+dir+" && mount -t bpf bpf "+dir+"`")
	l.wantNoInstance()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v in the directory, want nothing", entries, err)
	}
}

// TestMountsBPFFS runs where nothing is mounted at the standard place, in a mount namespace that
// ends with the command.
func TestMountsBPFFS(t *testing.T) {
	l := newLab(t)
	c := l.command("--pin", "/sys/fs/bpf/e2e", "attach", l.dev(), "--max-sources", "4096").wrapped(wrapNoBPFFS)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	r := c.run()
	if r.code != 0 || !strings.Contains(r.stderr, "mounted the bpf file system on /sys/fs/bpf") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	await(t, "the end of the file system", func() bool { return l.programID() == 0 })
	if _, err := os.Stat("/sys/fs/bpf/e2e"); !os.IsNotExist(err) {
		t.Errorf("stat: %v; the host must not see the instance", err)
	}
}

// TestOtherVersion finds the pins of another layout, and removes them only where it is told to.
func TestOtherVersion(t *testing.T) {
	l := newLab(t)
	if err := os.MkdirAll(filepath.Join(l.pin, "v0", "links"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"attach far0 --rate 1kpps", "status", "block 10.0.0.1", "detach far0"} {
		l.run(strings.Fields(args)...).wantError(t, 1, "an instance of another version is at "+l.pin+": it has the layout v0")
	}
	if entries, err := os.ReadDir(l.pin); err != nil || len(entries) != 1 || l.programID() != 0 {
		t.Errorf("%v, %v; want v0 alone", entries, err)
	}
	l.must("detach", "--all")
	l.wantNoInstance()
}

// TestIncompatible finds a map that is not as this build wants it.
func TestIncompatible(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", never, "--burst", "5")
	path := filepath.Join(l.pin, "v1", bpf.MapLossNumbers)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l.run("status").wantError(t, 1, "map loss_numbers is missing")
	wrong, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 64, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	if err := wrong.Pin(path); err != nil {
		t.Fatal(err)
	}
	id := l.programID()
	for _, args := range []string{"attach far0 --rate 1kpps", "status", "block 10.0.0.1", "detach far0"} {
		l.run(strings.Fields(args)...).wantError(t, 1, "an instance of an incompatible build is at "+l.pin)
	}
	if got := l.programID(); got != id {
		t.Errorf("program %d is attached, it was %d", got, id)
	}
	l.wantPassed(udp(flooder), 20, 5)
	l.must("detach", "--all")
	l.wantNoInstance()
}

// TestLocked holds the lock, as another command would.
func TestLocked(t *testing.T) {
	l := newLab(t)
	l.attach()
	before := l.state()
	dir, err := os.Open(l.pin)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"attach far0 --rate 5pps", "block 10.0.0.1", "unset 10.0.0.1", "set default --rate 5pps",
		"policy set x --port 5 --rate 5pps", "detach far0", "detach --all",
	} {
		r := l.run(append(strings.Fields(args), "--lock-wait", "100ms")...)
		r.wantError(t, 1, "another headgate command is at work on this instance; try again, or wait longer with --lock-wait")
	}
	l.wantState(before) // reading needs no lock

	// Who is asked to stop while it waits does not go on when the lock is free.
	stopped := l.command("block", "10.0.0.1", "--lock-wait", "1m").start()
	await(t, "the wait for the lock", func() bool { return stopped.hasOpen(l.pin) })
	stopped.signal(syscall.SIGTERM)
	if r := stopped.wait(); r.code != -1 {
		t.Errorf("exit %d after SIGTERM, want the signal: %s", r.code, r.stderr)
	}
	l.wantState(before)

	waiting := l.command("block", "10.0.0.1").start()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if r := waiting.wait(); r.code != 0 {
		t.Errorf("exit %d after the lock is free: %s", r.code, r.stderr)
	}
}

// TestManyCommands starts commands all at once, the first attach among them: all succeed, and
// nothing that one of them did is lost.
func TestManyCommands(t *testing.T) {
	l := newLab(t)
	need.Root(t)
	all := [][]string{{"block", "10.0.0.1"}, {"block", "10.0.0.2"}, {"allow", "10.0.0.2"}, {"set", "10.0.0.3", "--rate", "5pps"},
		{"policy", "set", "a", "--port", "1", "--rate", "5pps"}, {"policy", "set", "b", "--port", "2", "--rate", "5pps"}}
	attach := []string{"attach", l.dev(), "--max-sources", "4096", "--rate", "1kpps"}
	for _, round := range [][][]string{{attach, attach, attach}, all} {
		var running []*command
		for _, args := range round {
			running = append(running, l.command(args...).start())
		}
		var waiting sync.WaitGroup
		for _, c := range running {
			waiting.Go(func() { _ = c.Wait() })
		}
		waiting.Wait()
		for _, c := range running {
			if code := c.ProcessState.ExitCode(); code != 0 {
				t.Errorf("%v: exit %d: %s", c.Args[1:], code, c.err.String())
			}
		}
	}
	if got := len(l.rules()); got != 4 {
		t.Errorf("%d rules, want 4", got)
	}
	if got := len(l.policies()); got != 3 {
		t.Errorf("%d policies, want 3", got)
	}
}

// TestFullDisk writes to a disk that is full: whatever prints fails.
func TestFullDisk(t *testing.T) {
	l := newLab(t)
	l.attach()
	for _, args := range []string{
		"status", "stats", "top --once", "rules", "policies", "version", "explain 5pps", "events --for 1ms", "attach far0",
		"block 10.0.0.1", "allow 10.0.0.1", "unset 10.0.0.1", "set default --rate 5pps", "policy set x --port 5 --rate 5pps",
		"policy delete x", "help", "completion bash", "detach --all",
	} {
		formats := []string{"table", "json"}
		if args == "events --for 1ms" || args == "help" || strings.HasPrefix(args, "completion") {
			formats = formats[:1] // events has no line to write in JSON, and the others no format
		}
		for _, format := range formats {
			if args == "detach --all" && format == "json" {
				l.attach()
			}
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			c := l.command(append(strings.Fields(args), "-o", format)...)
			c.Stdout = full
			r := c.run()
			full.Close()
			t.Run(args+" "+format, func(t *testing.T) { r.wantError(t, 1, "no space left on device") })
		}
	}
}
