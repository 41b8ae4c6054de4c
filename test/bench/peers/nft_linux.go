package main

import (
	_ "embed"
	"os/exec"
	"strings"

	"github.com/headgate/headgate/test/netlab"
)

// The rules that the page on this bench shows too: of the end behind every limiter, of a limit for each source, and of one
// on all together.
var (
	//go:embed rules/sink.nft
	sinkRules string
	//go:embed rules/set.nft
	setRules string
	//go:embed rules/total.nft
	totalRules string
)

// nft is the rules of one namespace.
type nft struct {
	path string
	ns   *netlab.Namespace
}

// addRules adds rules for packets that come in at an end.
func (p programs) addRules(end *netlab.End, rules ...string) (nft, error) {
	n := nft{p.nft, end.Namespace}
	cmd := exec.Command(n.path, "-D", "interface="+end.Name, "-f", "-")
	cmd.Stdin = strings.NewReader(strings.Join(rules, "\n"))
	_, err := inside(n.ns, cmd)
	return n, err
}

// counts lists everything, tersely: to list only counters, nft reads a whole set first, which takes minutes.
func (n nft) counts() (counts, error) {
	out, err := inside(n.ns, exec.Command(n.path, "-t", "-j", "list", "ruleset"))
	if err != nil {
		return counts{}, err
	}
	return parseNFT([]byte(out))
}

// remove deletes the rules. The kernel has freed the set when it returns, at the latest with the second command, so that
// it does not do so beside what is measured next.
func (n nft) remove() error {
	if _, err := inside(n.ns, exec.Command(n.path, "delete", "table", "netdev", "bench")); err != nil {
		return err
	}
	_, err := inside(n.ns, exec.Command(n.path, "list", "ruleset"))
	return err
}
