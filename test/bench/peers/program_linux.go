package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/headgate/headgate/test/netlab"
)

// programs are the peers' commands.
type programs struct {
	nft, iptables string // paths
	versions      []string
}

// findPrograms returns where the peers' commands are, or which package is missing.
func findPrograms() (p programs, err error) {
	for _, one := range []struct {
		name, pkg string
		path      *string
	}{{"nft", "nftables", &p.nft}, {"iptables", "iptables", &p.iptables}} {
		if *one.path, err = exec.LookPath(one.name); err != nil {
			return p, fmt.Errorf("needs %s: apt-get install %s", one.name, one.pkg)
		}
		version, err := output(exec.Command(*one.path, "--version"))
		if err != nil {
			return p, err
		}
		p.versions = append(p.versions, strings.TrimSpace(version))
	}
	return p, nil
}

// inside runs a command in a namespace, and returns what it prints.
func inside(ns *netlab.Namespace, cmd *exec.Cmd) (out string, err error) {
	err = ns.Do(func() error {
		out, err = output(cmd)
		return err
	})
	return out, err
}

// output runs a command. What it says on its standard error is in the error.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = ": " + strings.TrimSpace(string(exit.Stderr))
		}
		return "", fmt.Errorf("%s: %w%s", cmd, err, said)
	}
	return string(out), nil
}
