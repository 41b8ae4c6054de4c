package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
)

func newDetachCmd(e *env, g *global) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "detach IFACE... | --all",
		Short: "Detach from interfaces; with the last one everything is removed",
		Long: `Stop limiting on these interfaces. With the last one the instance goes, with its rules, policies
and counters. --all removes an instance of any version.`,
		Example: `  headgate detach eth0
  headgate detach --all`,
		ValidArgsFunction: completeInterfaces,
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := g.format(); err != nil {
				return err
			}
			switch {
			case all && len(args) > 0:
				return usagef("name interfaces or give --all, not both")
			case all:
				return e.detachAll(g)
			case len(args) == 0:
				return usagef("name the interfaces to detach from, or give --all")
			default:
				return e.detach(g, args)
			}
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "detach from all interfaces and remove the instance")
	return cmd
}

func (e *env) detachAll(g *global) error {
	err := loader.Remove(g.options(e))
	done := render.Done{
		Action:  "detach",
		Changed: 1,
		Text:    "detached from all interfaces; the instance is removed",
	}
	if errors.Is(err, loader.ErrNotLoaded) {
		done.Changed, done.Text, err = 0, "nothing to change", nil
	}
	if err != nil {
		return err
	}
	return e.print(g, done)
}

func (e *env) detach(g *global, names []string) error {
	err := e.opened(g, func(i *loader.Instance) error {
		indices, err := i.Find(names)
		if err != nil {
			return err
		}
		done := render.Done{Action: "detach", Text: "nothing to change"}
		for n, index := range indices {
			if index == 0 || slices.Contains(indices[:n], index) {
				continue // not attached, or not any more
			}
			if err := i.Detach(index); err != nil {
				return err
			}
			done.Interfaces = append(done.Interfaces, names[n])
			done.Changed++
		}
		if done.Changed > 0 {
			done.Text = "detached from " + strings.Join(done.Interfaces, ", ")
		}
		last, err := removeUnused(i, done.Changed > 0)
		if err != nil {
			return err
		}
		if last {
			done.Text += "; no interface is left, so the instance is removed"
		}
		return e.print(g, done)
	})
	if !errors.Is(err, loader.ErrNotLoaded) {
		return err
	}
	if _, err := loader.CheckInterfaces(names); err != nil {
		return err // more likely a slip than an interface that is to be detached from
	}
	return e.print(g, render.Done{Action: "detach", Text: "nothing to change"})
}

// removeUnused removes an instance that is attached to nothing any more. Interfaces that are gone
// keep it only where nothing was detached: an agent may attach to them again.
func removeUnused(i *loader.Instance, detached bool) (removed bool, err error) {
	all, err := i.Attachments()
	if err != nil {
		return false, err
	}
	live := func(a loader.Attachment) bool { return !a.Gone }
	if slices.ContainsFunc(all, live) || len(all) > 0 && !detached {
		return false, nil
	}
	return true, i.RemoveAll()
}
