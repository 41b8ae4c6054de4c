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
		Args:   exactlyOne("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the directory of the man pages: %w", err)
			}
			header := &doc.GenManHeader{
				Section: "8",
				Source:  "headgate",
				Manual:  "System Administration",
				Date:    &manDate,
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			placeholdersAsDefaults(root)
			hideShells(root)
			return doc.GenManTree(root, header, args[0])
		},
	}
}

// hideShells leaves out the pages of cobra's completion for each shell: they say next to nothing.
func hideShells(root *cobra.Command) {
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	for _, shell := range completion.Commands() {
		shell.Hidden = true
	}
	completion.Run = func(*cobra.Command, []string) {} // or it had no page either
}
