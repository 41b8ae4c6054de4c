package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/maps/policymap"
)

// overflowFlag says what becomes of packets of a source near its limit while there is no bucket for it. Empty leaves it
// as it is.
type overflowFlag string

func (f *overflowFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "overflow", "",
		"packets of sources near their limit while there is no bucket for them: by the estimate of their heat cell, or pass, or drop (default estimate)")
	placeholders(cmd, map[string]string{"overflow": "WHAT"})
	completeFlag(cmd, "overflow", oneOf("estimate", "pass", "drop"))
}

func (f overflowFlag) check() error { return f.apply(&policymap.Policy{}) }

// words say which one was set, to be added to what else was.
func (f overflowFlag) words() string {
	if f == "" {
		return ""
	}
	return "; overflow: " + string(f)
}

// apply changes a policy where the flag is given.
func (f overflowFlag) apply(p *policymap.Policy) error {
	if f == "" {
		return nil
	}
	overflow, err := policymap.ParseOverflow(string(f))
	if err != nil {
		return usagef("--%w", err)
	}
	p.Overflow = overflow
	return nil
}
