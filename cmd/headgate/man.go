package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manDate keeps the pages the same wherever and whenever they are made.
var manDate = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// newManCmd writes the man pages. It is for `make man`, not for people.
func newManCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Args:   args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the directory of the man pages: %w", err)
			}
			header := &doc.GenManHeader{
				Title:   "HEADGATE",
				Section: "8",
				Source:  "headgate",
				Manual:  "System Administration",
				Date:    &manDate,
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, header, args[0])
		},
	}
}
