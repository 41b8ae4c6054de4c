package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/ruleset"
)

// mostProcesses times the largest number of requests in a file is far from overflowing.
const mostProcesses = 1_000_000

type checkFlags struct {
	configFlag
	processes int
}

func newCheckCmd(e *env, g *global) *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a configuration file, and say in plain words what it does",
		Long: `check reads a configuration file and prints all that is wrong in it, each with line and, unless it is not
YAML at all, column; then it fails. What is doubtful is printed as a warning. Of a file that can be used it says
what is in force: what the kernel limits and what the agent serves; and of HTTP, who a request is charged to, by
what the zones count, and what each limit of each rule lets pass, in the order in which they are asked.

Limits are kept by each process for itself, but for those of zones with store: redis, which all machines have
together. --processes says what several processes let pass together.`,
		Example: `  headgate check -c headgate.yaml
  headgate check -c headgate.yaml --processes 3
  headgate check -c - -o json < headgate.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.require(cmd); err != nil {
				return err
			}
			if f.processes < 1 || f.processes > mostProcesses {
				return usagef("--processes %d: use 1 to %d", f.processes, mostProcesses)
			}
			return e.check(g, f)
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&f.processes, "processes", 1, "how many processes have these limits")
	placeholders(cmd, map[string]string{"processes": "NUMBER"})
	return cmd
}

func (e *env) check(g *global, f *checkFlags) error {
	if _, err := g.format(); err != nil {
		return err
	}
	c := render.Check{File: f.name(), Errors: []render.Problem{}, Warnings: []render.Problem{}}
	file, err := f.read(e)
	var wrong config.Errors
	switch {
	case errors.As(err, &wrong):
		c.Errors = problems(wrong)
	case err != nil:
		return err
	default:
		c.Warnings = problems(file.Warnings)
		if _, err := ruleset.New(file.HTTP); err != nil {
			c.Errors = problems([]config.Problem{{File: c.File, Text: err.Error()}})
		}
		c.Warnings = append(c.Warnings, missingGroups(c.File, file)...)
		c.Warnings = append(c.Warnings, redisFiles(c.File, file.Redis)...)
	}
	if c.Valid = len(c.Errors) == 0; c.Valid {
		c.InForce = inForce(file, f.processes)
	}
	return errors.Join(e.print(g, c), c.Failed())
}

// missingGroups returns a warning for each group that is to have a socket and that this machine does not have: the file may be meant
// for another one, where the start would fail for the same reason.
func missingGroups(name string, file *config.File) []render.Problem {
	var all []config.Problem
	for _, group := range file.Groups() {
		if err := gateway.CheckGroup(group); err != nil {
			all = append(all, config.Problem{File: name, Text: err.Error()})
		}
	}
	return problems(all)
}

// redisFiles returns a warning for each file of the redis section that there is not, or that everybody may read: likewise.
func redisFiles(name string, r *config.Redis) []render.Problem {
	if r == nil {
		return nil
	}
	var all []config.Problem
	for _, err := range redisconn.CheckFiles(*r) {
		all = append(all, config.Problem{File: name, Path: "redis", Text: err.Error()})
	}
	return problems(all)
}

func problems(all []config.Problem) []render.Problem {
	shown := make([]render.Problem, len(all))
	for i, p := range all {
		shown[i] = render.Problem{
			File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Text: p.Text, Words: p.Error(),
		}
	}
	return shown
}
