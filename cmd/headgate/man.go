package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
			root := cmd.Root()
			root.DisableAutoGenTag = true
			placeholdersAsDefaults(root)
			hideShells(root)
			if err := writeManPages(root, args[0]); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(args[0], "headgate.yaml.5"), fileManPage(), 0o644)
		},
	}
}

// writeManPages writes the page of a command, and those of the commands below it.
func writeManPages(cmd *cobra.Command, dir string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	page, err := manPage(cmd, name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".8"), page, 0o644); err != nil {
		return err
	}
	for _, below := range cmd.Commands() {
		if !below.IsAvailableCommand() || below.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeManPages(below, dir); err != nil {
			return err
		}
	}
	return nil
}

// seeAlso begins the last section of a page of cobra's.
const seeAlso = "\n.SH SEE ALSO\n"

// manPage returns cobra's page of a command with what cobra does not know.
func manPage(cmd *cobra.Command, name string) ([]byte, error) {
	var page bytes.Buffer
	header := &doc.GenManHeader{Section: "8", Source: "headgate", Manual: "System Administration", Date: &manDate}
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(page.String(), "[=false]", "") // of flags that are given or not
	text = strings.TrimRight(text, "\n")
	text = strings.Replace(text, seeAlso, "\n"+manSections(name)+seeAlso[1:], 1)
	for _, other := range related(name) {
		text += ", " + bold(other)
	}
	return []byte(text + "\n"), nil
}

// related returns the pages that belong to one beside those above and below it, which cobra names.
func related(name string) (others []string) {
	for _, group := range [][]string{
		{"headgate-check(8)", "headgate-explain(8)", "headgate-replay(8)", "headgate.yaml(5)"},
		{"headgate-run(8)", "headgate-agent(8)", "headgate-reload(8)", "headgate-drain(8)", "headgate.yaml(5)"},
		{"headgate-fleet(8)", "headgate-block(8)", "headgate-allow(8)", "headgate-set(8)", "headgate-unset(8)"},
		{"headgate(8)", "headgate.yaml(5)"},
	} {
		if i := slices.Index(group, name+"(8)"); i >= 0 {
			others = append(others, slices.Delete(slices.Clone(group), i, i+1)...)
		}
	}
	return others
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
