package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/admin"
)

func newOffendersCmd(e *env, g *global) *cobra.Command {
	f, limit := &agentFlags{}, 0
	cmd := &cobra.Command{
		Use:   "offenders",
		Short: "Show the sources that are refused again and again",
		Long: `offenders shows the sources that the agent counts offences of, those nearest to being handed down to
the kernel first, and those that are. Offences are requests that were refused, lines of nginx's
error log, and reports.`,
		Example: `  headgate offenders
  headgate offenders -n 5 -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkShown(limit); err != nil {
				return err
			}
			return f.ask(g, func(c *admin.Client) error {
				offenders, err := c.Offenders(cmd.Context(), limit)
				if err != nil {
					return err
				}
				return e.print(g, render.Offenders(offenders))
			})
		},
	}
	f.register(cmd, e)
	shownFlag(cmd, &limit, "offenders")
	return cmd
}

// reportFlags say what is reported of a source.
type reportFlags struct {
	agentFlags
	reason, file string
	count        int
}

func newReportCmd(e *env, g *global) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report PREFIX... | --file FILE",
		Short: "Report a source that has offended, as a failed login",
		Long: `report tells the agent that a source has offended. It counts like a request that was refused: after as
many offences as the handdown section says, the kernel drops or limits the source. So a program
that sees failed logins has them enforced without being in the way of requests.

The output says what became of each report: counted, handed down, or spared and why, as for a
private address or one with an allow rule. In all of these cases the exit code is 0.`,
		Example: `  headgate report 203.0.113.7 --reason "failed login"
  headgate report 203.0.113.7 2001:db8::1 --count 5
  headgate report --file - -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			prefixes, err := e.prefixArgs(args, f.file)
			if err != nil {
				return err
			}
			return f.ask(g, func(c *admin.Client) error { return e.report(cmd, g, c, f, prefixes) })
		},
	}
	f.register(cmd, e)
	flags := cmd.Flags()
	flags.StringVar(&f.reason, "reason", "", "why, in words, for the log")
	flags.IntVar(&f.count, "count", 1, "how many offences")
	flags.StringVar(&f.file, "file", "", "take a list from a file (- for standard input): one address a line, # starts a comment")
	placeholders(cmd, map[string]string{"reason": "TEXT", "count": "NUMBER", "file": "FILE"})
	return cmd
}

// check finds what is wrong with the flags whatever is reported.
func (f *reportFlags) check() error {
	if f.count < 1 {
		return usagef("count %d: use 1 or more", f.count)
	}
	if strings.ContainsFunc(f.reason, unicode.IsControl) {
		return usagef("--reason %q has characters that do not print; leave them out", f.reason)
	}
	return nil
}

// report reports prefixes, and shows what became of them: of those before one that is refused, where one is.
func (e *env) report(cmd *cobra.Command, g *global, c *admin.Client, f *reportFlags, prefixes []netip.Prefix) error {
	outcomes := render.Reports{}
	var refused error
	for i, p := range prefixes {
		o, err := c.Report(cmd.Context(), admin.ReportBody{Prefix: p.String(), Reason: f.reason, Count: f.count})
		if err != nil {
			refused = notReported(err, prefixes[i:])
			break
		}
		outcomes = append(outcomes, o)
	}
	if refused != nil && len(outcomes) == 0 {
		return refused
	}
	return errors.Join(e.print(g, outcomes), refused)
}

// notReported says of which prefix err is, and how many more there are, where somebody has to know.
func notReported(err error, left []netip.Prefix) error {
	if len(left) == 1 {
		return err
	}
	return fmt.Errorf("%w; %s and what comes after it, %d in all, were not reported", err, left[0], len(left))
}
