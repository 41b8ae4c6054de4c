package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/userspace/admin"
)

// proposed returns what a shell proposes for the last of some words.
func (c *console) proposed(t *testing.T, words ...string) []string {
	t.Helper()
	c.out.Reset()
	if code := c.run(t, slices.Concat([]string{"__complete"}, words)...); code != exitDone {
		t.Fatalf("%q: exit %d, %s", words, code, c.err.String())
	}
	lines := strings.Split(strings.TrimSuffix(c.out.String(), "\n"), "\n")
	return lines[:len(lines)-1] // the last one is for the shell
}

// A shell completes what the agent knows, and what there is to choose from.
func TestComplete(t *testing.T) {
	c := newAgentConsole(t, &agentfake.Agent{})
	zones := []string{"perip\t10r/s", "slots\t4 at a time *"}
	for _, tt := range []struct {
		words string // the last one is empty if the line ends with a space
		want  []string
	}{
		{"keys ", zones},
		{"peek ", zones},
		{"reset ", zones},
		{"zone set ", zones},
		{"zone set perip ", nil},
		{"peek perip ", []string{"203.0.113.7", "2001:db8::/64"}},
		{"reset perip ", []string{"203.0.113.7", "2001:db8::/64"}},
		{"peek perip 203.0.113.7 ", nil}, // the key has one part
		{"peek none ", nil},
		{"events --kind ", admin.EventKinds()},
		{"events --kind handdown,sp", slices.DeleteFunc(prefixed("handdown,", admin.EventKinds()), func(s string) bool { return s == "handdown,handdown" })},
		{"stats -o ", []string{"table", "json"}},
		{"rules --action ", []string{"allow", "block", "limit"}},
		{"attach --mode ", []string{"auto", "native", "generic"}},
		{"attach --overflow ", []string{"estimate", "pass", "drop"}},
		{"set default --overflow ", []string{"estimate", "pass", "drop"}},
		{"policy set x --overflow ", []string{"estimate", "pass", "drop"}},
		{"policy set x --key ", []string{"source", "shared"}},
		{"run -c ", []string{"yaml", "yml"}}, // of files
	} {
		if got := c.proposed(t, strings.Split(tt.words, " ")...); !slices.Equal(got, tt.want) {
			t.Errorf("%q: proposed %q, want %q", tt.words, got, tt.want)
		}
	}
}

func prefixed(prefix string, words []string) (all []string) {
	for _, w := range words {
		all = append(all, prefix+w)
	}
	return all
}

// Where nobody can be asked nothing is proposed, and nothing is waited for.
func TestCompleteWithoutAgent(t *testing.T) {
	c := newConsole()
	c.getenv = environment(map[string]string{
		"HEADGATE_SOCKET": filepath.Join(t.TempDir(), "none"), "HEADGATE_PIN": filepath.Join(t.TempDir(), "none"),
	})
	for _, words := range []string{"keys ", "peek perip ", "policy delete "} {
		if got := c.proposed(t, strings.Split(words, " ")...); len(got) > 0 {
			t.Errorf("%q: proposed %q", words, got)
		}
	}
	if got := c.proposed(t, "unset", ""); !slices.Equal(got, []string{"default"}) {
		t.Errorf("proposed %q", got)
	}
}

// Interfaces are those of the machine, each once.
func TestCompleteInterfaces(t *testing.T) {
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	c := newConsole()
	for _, i := range interfaces {
		want := i.Flags&net.FlagLoopback == 0
		if got := slices.Contains(c.proposed(t, "attach", ""), i.Name); got != want {
			t.Errorf("%s is proposed: %t, want %t", i.Name, got, want)
		}
		if slices.Contains(c.proposed(t, "detach", i.Name, ""), i.Name) {
			t.Errorf("%s is proposed again", i.Name)
		}
	}
}

// The scripts are such that shells read them.
func TestCompletionScripts(t *testing.T) {
	for shell, begin := range map[string]string{
		"bash": "# bash completion V2 for headgate ", "zsh": "#compdef headgate\n", "fish": "# fish completion for headgate ", "powershell": "# powershell completion for headgate ",
	} {
		c := newConsole()
		if code := c.run(t, "completion", shell); code != exitDone || !strings.HasPrefix(c.out.String(), begin) {
			t.Errorf("%s: exit %d, %.100q, %s", shell, code, c.out.String(), c.err.String())
		}
		if shell != "bash" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-n")
		cmd.Stdin = strings.NewReader(c.out.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("bash: %v\n%s", err, out)
		}
	}
}
