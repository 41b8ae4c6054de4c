package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			return relatePages(args[0])
		},
	}
}

// relatePages adds to the pages of the commands that take a configuration file the names of the others: cobra names
// only the page above.
func relatePages(dir string) error {
	related := []string{"headgate-check", "headgate-explain", "headgate-replay"}
	for _, page := range related {
		file := filepath.Join(dir, page+".8")
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text = bytes.TrimRight(text, "\n") // it ends with SEE ALSO
		for _, other := range related {
			if other != page {
				text = fmt.Appendf(text, ", \\fB%s(8)\\fP", other)
			}
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
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
