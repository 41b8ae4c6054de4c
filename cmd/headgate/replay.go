package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/replay"
	"github.com/headgate/headgate/userspace/ruleset"
)

type replayFlags struct {
	configFlag
	trace, log, host string
	summary          bool
	top              int
}

func newReplayCmd(e *env, g *global) *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay -c FILE {--trace TRACE | --log LOG}",
		Short: "Say what the HTTP limits of a file would have done to recorded requests",
		Long: `replay decides about recorded requests by the http section of a configuration file, with the recorded
clock, and sums up what would have been refused, by which rule, and whom it would have hit. Nothing is
limited, and the same recording has the same result anywhere. With -o json it prints a line for each request
instead (JSON Lines), unless --summary is given.

A trace has a JSON object on each line. Only t_ms, in milliseconds since any instant, and ip, the address of the
TCP peer, are required; other fields than these are ignored:

    {"t_ms":0,"ip":"203.0.113.7","method":"GET","host":"h","path":"/x","query":"a=1",
     "headers":{"appid":"1","cookie":"id=7"},"took_ms":12.5}

The path is decoded, the query is not; a header may be a list of texts. took_ms is how long the request took:
limits of requests at a time need it.

A log is an access log of nginx or Apache: common or combined, with or without the virtual host in front, or nginx's
main, which has X-Forwarded-For at the end. It tells whole seconds, in which requests come all at once: a limit
without a burst refuses more in the replay than it would. nginx writes the time when a request ended: one that
took long, or that limit_req delayed, is replayed that much later, and bursts look smaller than they were.

Either may be compressed with gzip, and - is standard input. Lines that cannot be read are left out, counted and
told, and the command fails when the others are done; where there are no others, nothing is summed up. It also
fails when it is interrupted, and sums up what was done until then.`,
		Example: `  headgate replay -c headgate.yaml --log /var/log/nginx/access.log
  headgate replay -c headgate.yaml --trace trace.jsonl.gz -o json
  zcat -f access.log* | headgate replay -c headgate.yaml --log - --summary -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(cmd); err != nil {
				return err
			}
			if _, err := g.format(); err != nil {
				return err
			}
			return e.replay(cmd.Context(), g, f)
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.trace, "trace", "", "a trace, - for standard input")
	flags.StringVar(&f.log, "log", "", "an access log, - for standard input")
	flags.StringVar(&f.host, "host", "", "the host of requests of which it is not recorded")
	flags.BoolVar(&f.summary, "summary", false, "sum up with -o json too, in place of a line for each request")
	flags.IntVar(&f.top, "top", 10, "how many clients and keys the summary names")
	placeholders(cmd, map[string]string{"trace": "TRACE", "log": "LOG", "host": "HOST", "top": "NUMBER"})
	return cmd
}

func (f *replayFlags) validate(cmd *cobra.Command) error {
	if err := f.require(cmd); err != nil {
		return err
	}
	switch {
	case f.trace == "" && f.log == "":
		return usagef("name the recording: --trace trace.jsonl or --log access.log")
	case f.trace != "" && f.log != "":
		return usagef("--trace and --log: there can be one recording, not both")
	case f.file == "-" && f.recording() == "-":
		return usagef("standard input cannot be both the configuration and the recording; name a file for one of them")
	case f.top < 0:
		return usagef("--top %d: use 0 or more", f.top)
	}
	return nil
}

// recording returns the name of the recording. One of the two is empty.
func (f *replayFlags) recording() string { return f.trace + f.log }

func (f *replayFlags) format() replay.Format {
	if f.log != "" {
		return replay.Log
	}
	return replay.Trace
}

func (e *env) replay(ctx context.Context, g *global, f *replayFlags) error {
	file, err := f.used(e)
	if err != nil {
		return err
	}
	in, name, err := e.open(f.recording())
	if err != nil {
		return err
	}
	defer in.Close()

	format, err := g.format()
	if err != nil {
		return err
	}
	byLine := format == render.JSON && !f.summary
	o := replay.Options{Format: f.format(), Host: f.host, Top: f.top}
	out := &replayedWriter{w: e.stdout}
	if byLine {
		o.Each, o.Top = out.write, 0
	}
	shown := e.recordingBar(in, byLine)
	o.Progress = shown.update
	ctx, stop := interruptible(ctx) // not before: to open a FIFO waits for a writer, and nothing but a signal ends that
	defer stop()
	s, err := replay.Run(ctx, shown, file.HTTP, o)
	shown.finish()
	interrupted := errors.Is(err, context.Canceled)
	if s == nil || err != nil && s.Lines.Read == 0 && !interrupted {
		return err // there is nothing to tell of
	}
	if nothingRead(s) && !interrupted {
		return errors.Join(badLines(name, s), replayError(name, s, o.Format, err))
	}
	view := replaySummary(s, file.HTTP, f)
	view.Interrupted = interrupted
	printed := e.printReplay(g, out, byLine, view)
	if byLine { // or the summary has them
		printed = errors.Join(printed, badLines(name, s))
	}
	return errors.Join(printed, replayError(name, s, o.Format, err))
}

// nothingRead reports whether there were lines, none of which could be read.
func nothingRead(s *replay.Summary) bool {
	return s.Lines.Unreadable > 0 && s.Lines.Unreadable == s.Lines.Read
}

// printReplay ends the output.
func (e *env) printReplay(g *global, out *replayedWriter, byLine bool, view render.ReplaySummary) error {
	if byLine {
		return out.flush()
	}
	return e.print(g, view)
}

// replayError returns why a replay is not of the whole recording, if it is not.
func replayError(name string, s *replay.Summary, f replay.Format, err error) error {
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %s was not replayed to its end", name)
	}
	if s.Lines.Unreadable == 0 {
		return err
	}
	left := fmt.Sprintf("%s: left out %d of %d lines that could not be read", name, s.Lines.Unreadable, s.Lines.Read)
	return errors.Join(err, errors.New(left+otherFormat(s, f)))
}

// otherFormat asks whether a recording, none of which could be read, is of the other format, if it looks like that.
func otherFormat(s *replay.Summary, f replay.Format) string {
	switch {
	case !nothingRead(s) || s.Lines.OtherFormat < s.Lines.Unreadable:
		return ""
	case f == replay.Log:
		return "; is this a trace? use --trace"
	}
	return "; is this an access log? use --log"
}

// badLines tells the first lines that could not be read.
func badLines(name string, s *replay.Summary) error {
	var all []error
	for _, bad := range s.Lines.First {
		all = append(all, fmt.Errorf("%s:%d: %s", name, bad.Line, bad.Reason))
	}
	return errors.Join(all...)
}

// unknownWait is the RetryAfter of limits of requests at a time: nobody knows when one ends.
const unknownWait time.Duration = 1

// replayed returns what is printed of a request.
func replayed(r *replay.Request, d *ruleset.Decision) render.Replayed {
	line := render.Replayed{
		At: r.At, Line: r.Line, Allowed: d.Allowed, Delay: d.Delay, Status: d.Status, DryRun: d.DryRun,
		RetryAfter: d.RetryAfter,
	}
	if d.Allowed {
		line.Status = 200
	}
	if d.Client.IsValid() {
		line.Client = d.Client.String()
	}
	if a := replay.Deciding(d); a != nil {
		line.Zone, line.Rule, line.Key, line.Excess = a.Zone, a.Rule, a.Key(), a.Result.Excess
	}
	if d.RetryAfter == unknownWait {
		line.RetryAfter = limit.Never
	}
	if d.DryRun {
		v := replay.DryRun(d)
		line.WouldRefuse, line.WouldDelay = v.Refused, v.Delay
	}
	return line
}
