package main

import (
	"github.com/spf13/cobra"
)

func newDemoCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{Use: "demo"}
}
