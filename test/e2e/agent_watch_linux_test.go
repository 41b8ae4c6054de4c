package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is written in place is taken, and so is one that Kubernetes swaps by a link of its directory.
func TestAgentWatchesItsFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	for _, version := range []string{"..1", "..2", "..3"} {
		if err := os.Mkdir(s.path(version), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.configureAs("..1/headgate.yaml", both("0", ""))
	s.configureAs("..2/headgate.yaml", both("1", "{prefix: 10.0.0.0/8, block: true}"))
	s.configureAs("..3/headgate.yaml", both("2", "{prefix: 10.1.0.0/16, block: true}"))
	s.link("..1", "..data")
	s.link("..data/headgate.yaml", "headgate.yaml")
	a := s.agent()
	a.start()
	a.awaitInForce()
	s.browser(modest).wantStatuses(2, 1)
	for _, version := range []string{"..2", "..3"} {
		s.link(version, "..data")
		a.awaitInForce()
		s.browser(modest).wantStatuses(2, 1)
	}
	if got := s.rulesByPrefix(); len(got) != 1 || got["10.1.0.0/16"] != "block config" {
		t.Errorf("rules are %v", got)
	}
	s.configureAs("..3/headgate.yaml", both("4", ""))
	a.awaitInForce()
	s.browser(modest).wantStatuses(3, 2)
	a.wantLines(0, "was not reloaded")
}

// A list of prefixes that the file names is watched as the file is.
func TestAgentWatchesLists(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configureAs("blocked.txt", "203.0.113.0/24\n")
	a := s.start("kernel: {interfaces: [IFACE], max_sources: 4096, rule_files: [{file: blocked.txt, block: true}]}\n")
	s.wantPassed(flooder, 9, 0)
	s.configureAs("blocked.txt", "198.51.100.0/24 # others\n")
	await(t, "the other list", func() bool { return s.rulesByPrefix()["198.51.100.0/24"] == "block config" })
	s.wantPassed(flooder, 9, 9)
	s.wantPassed(modest, 9, 0)
	s.configureAs("blocked.txt", "no prefix\n")
	a.awaitLine("was not reloaded", "blocked.txt:1")
	s.wantPassed(modest, 9, 0)
}

// link makes a symbolic link, in one step.
func (s *site) link(target, name string) {
	s.tb.Helper()
	if err := os.Symlink(target, s.path("new")); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Rename(s.path("new"), s.path(name)); err != nil {
		s.tb.Fatal(err)
	}
}

// configureAs writes a configuration in place of another, not in one step.
func (s *site) configureAs(name, text string) {
	s.tb.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(s.expand(text)), 0o644); err != nil {
		s.tb.Fatal(err)
	}
}
