package docs_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// TestCommands runs the headgate commands in the console blocks of every document, in their order,
// on a machine made for each document: a namespace with eth0 and eth1, and a default gateway behind
// eth0.
func TestCommands(t *testing.T) {
	need.Root(t)
	bin := build(t)
	for _, path := range documents(t) {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			all, err := blocks(read(t, path))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if len(all) == 0 {
				return
			}
			m := newMachine(t, bin)
			var new edits
			for _, b := range all {
				m.try(t, path, b, &new)
			}
			new.apply(t, path)
		})
	}
}

// build returns a directory with the binary.
func build(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-o", dir, "./cmd/headgate")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// machine is where the commands of one document run.
type machine struct {
	namespace *netlab.Namespace
	clients   *netlab.Namespace // behind eth0
	dir       string            // in which the commands run; its run takes the place of runDir, and is missing as that is after a boot
	env       []string
	agent     *agent // that runs, if any
}

func newMachine(tb testing.TB, bin string) *machine {
	tb.Helper()
	near, far := netlabtest.Namespace(tb), netlabtest.Namespace(tb)
	pair(tb, near, far, netlab.PairOptions{
		NearName: "peer0", NearAddrs: clientAddrs(),
		FarName: "eth0", FarAddrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")},
	})
	pair(tb, near, far, netlab.PairOptions{NearName: "peer1", FarName: "eth1"})
	if err := far.Do(addGateway); err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	list := []byte("203.0.113.200 # an address\n2001:db8:bad::/48\n")
	if err := os.WriteFile(filepath.Join(dir, "blocklist.txt"), list, 0o600); err != nil {
		tb.Fatal(err)
	}
	for _, copied := range []string{"examples", "deploy"} {
		if err := os.CopyFS(filepath.Join(dir, copied), os.DirFS(filepath.Join(root, copied))); err != nil {
			tb.Fatal(err)
		}
	}
	return &machine{
		namespace: far,
		clients:   near,
		dir:       dir,
		env: []string{
			"PATH=" + bin + ":/usr/sbin:/usr/bin:/sbin:/bin",
			"HEADGATE_PIN=" + filepath.Join(netlabtest.BPFFS(tb), "headgate"),
			"HEADGATE_SOCKET=" + filepath.Join(dir, "run/admin.sock"),
			// Otherwise the session is looked for in the processes above this one.
			"SSH_CONNECTION=none",
		},
	}
}

func pair(tb testing.TB, near, far *netlab.Namespace, o netlab.PairOptions) {
	tb.Helper()
	if _, err := netlab.NewPair(near, far, o); err != nil {
		tb.Fatal(err)
	}
}

func addGateway() error {
	eth0, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: eth0.Attrs().Index, Gw: net.IPv4(192, 0, 2, 2)})
}

// clientAddrs returns the addresses of the machine behind eth0: of the gateway, and of the clients in documents.
func clientAddrs() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("192.0.2.2/24"),
		netip.MustParsePrefix("203.0.113.7/32"), netip.MustParsePrefix("203.0.113.8/32"), netip.MustParsePrefix("203.0.113.9/32"),
	}
}

// try runs the commands of a block that call headgate, and where an agent runs those of curl too, and compares what
// it says to compare. What they print now is added to new.
func (m *machine) try(t *testing.T, path string, b block, new *edits) {
	t.Helper()
	if b.skip != "" || b.server != "" {
		return
	}
	if b.agent != "" {
		m.start(t, b.agent)
	}
	for _, c := range b.commands {
		do := m.commandOf(c)
		if do == nil {
			continue
		}
		out, exit, err := do(t.Context(), strings.ReplaceAll(c.text, "sudo ", ""))
		if err != nil {
			t.Fatalf("%s:%d: %s: %v", path, c.line, c.text, err)
		}
		if exit != b.exit {
			t.Errorf("%s:%d: %s: exit code %d, want %d\n%s", path, c.line, c.text, exit, b.exit, out)
		}
		out = strings.ReplaceAll(out, m.dir+"/run/", runDir)
		differs := b.output && out != c.shows || b.like && !isLike(out, c.shows)
		if differs {
			new.add(c, out)
		}
		if differs && !*update {
			t.Errorf("%s:%d: %s: prints\n%s\nbut the document shows\n%s", path, c.line, c.text, out, c.shows)
		}
	}
}

// commandOf returns what runs a command; nil if it is not run. An agent is started only by the comment of a block; below its
// command, and that of the journal, there is what it has logged.
func (m *machine) commandOf(c command) func(context.Context, string) (string, int, error) {
	text := strings.TrimPrefix(c.text, "sudo ")
	switch program, _, _ := strings.Cut(text, " "); {
	case m.agent == nil && strings.HasPrefix(text, "headgate run "):
		return nil
	case m.agent != nil && (strings.HasPrefix(text, "headgate run ") || program == "journalctl"):
		return func(ctx context.Context, _ string) (string, int, error) { return m.agent.said(ctx, c.shows) }
	case m.agent != nil && program == "curl":
		return func(ctx context.Context, line string) (string, int, error) { return m.curl(ctx, c.from, line) }
	case usesHeadgate.MatchString(c.text), m.agent != nil && program == "sed":
		return m.run
	default:
		return nil
	}
}

// run gives a command line to the shell, with Enter as its input.
func (m *machine) run(ctx context.Context, line string) (out string, exit int, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = m.dir, m.env
	cmd.Stdin = strings.NewReader("\n")
	var printed []byte
	err = m.namespace.Do(func() error {
		var err error
		printed, err = cmd.CombinedOutput()
		return err
	})
	if ctx.Err() != nil {
		return string(printed), 0, errors.New("it does not end")
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return string(printed), failed.ExitCode(), nil
	}
	return string(printed), 0, err
}
