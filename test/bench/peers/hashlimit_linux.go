package main

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"

	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/flow"
	"github.com/headgate/headgate/test/netlab"
)

// hashSize is how many sources hashlimit has room for: no more is possible (XT_HASHLIMIT_MAX_SIZE).
const hashSize = 1 << 20

// hashlimit is the last of what comes before connections are tracked. The end behind it is a rule of the same chain, which
// is less far to go than the other limiters' is.
func (p programs) hashlimit(f *flow.Flow) (tally, func() error, error) {
	far := f.Pair.Far
	c := chain{p.iptables, far.Namespace}
	size := strconv.Itoa(hashSize)
	err := errors.Join(
		c.do("-A", "PREROUTING", "-i", far.Name, "-m", "hashlimit", "--hashlimit-name", "bench",
			"--hashlimit-mode", "srcip",
			"--hashlimit-above", strconv.Itoa(limitRate)+"/second", "--hashlimit-burst", strconv.Itoa(limitBurst),
			"--hashlimit-htable-size", size, "--hashlimit-htable-max", size,
			"--hashlimit-htable-expire", "3600000", // ms: none is forgotten during a run
			"-j", "DROP"),
		c.do("-A", "PREROUTING", "-i", far.Name, "-j", "DROP"),
		f.Receive(f.Programs[bpf.Pass]),
	)
	if err != nil {
		return nil, nil, err
	}
	return c.counts, func() error { return c.do("-F", "PREROUTING") }, nil
}

// chain is PREROUTING of the table raw, in one namespace.
type chain struct {
	iptables string
	ns       *netlab.Namespace
}

func (c chain) do(args ...string) error {
	_, err := inside(c.ns, c.command(args...))
	return err
}

func (c chain) counts() (counts, error) {
	out, err := inside(c.ns, c.command("-nvxL", "PREROUTING"))
	if err != nil {
		return counts{}, err
	}
	return parseIptables(strings.NewReader(out))
}

func (c chain) command(args ...string) *exec.Cmd {
	return exec.Command(c.iptables, append([]string{"-t", "raw"}, args...)...)
}
