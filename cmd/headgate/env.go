package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/wire"
)

// env is the world as commands see it. Tests give them another one.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	bootTime       func() uint64
	// terminal returns the size of the terminal that w is, if it is one.
	terminal func(w io.Writer) (width, height int, ok bool)
}

func newEnv() *env {
	return &env{
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		getenv:   os.Getenv,
		now:      time.Now,
		bootTime: wire.BootTime,
		terminal: terminalSize,
	}
}

func terminalSize(w io.Writer) (width, height int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, height, err == nil
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an error in how headgate was called, found before anything was done.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// isUsage says whether an error is in what was asked for.
func isUsage(err error) bool {
	_, usage := errors.AsType[usageError](err)
	_, refused := errors.AsType[change.Refusal](err)
	return usage || refused
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes one command line and returns the exit code.
func run(ctx context.Context, e *env, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	help := &checkedWriter{w: e.stdout}
	root.SetOut(help)
	err := root.ExecuteContext(ctx)
	if err == nil && help.err != nil {
		err = fmt.Errorf("write the output: %w", help.err)
	}
	err = forcible(err)
	switch {
	case err == nil:
		return exitDone
	case isUsage(err):
		fmt.Fprintf(e.stderr, "headgate: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(e.stderr, "headgate: %v\n", err)
		return exitFailed
	}
}

// checkedWriter remembers the first error of a writer, for those who do not look: cobra's help.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// notice tells the user something that is no error, beside the output proper.
func (e *env) notice(format string, args ...any) {
	fmt.Fprintf(e.stderr, "headgate: "+format+"\n", args...)
}

// global holds the flags that every command has.
type global struct {
	pin      string
	output   string
	lockWait time.Duration
}

func (g *global) options(e *env) loader.Options {
	return loader.Options{
		Dir:      g.pin,
		LockWait: g.lockWait,
		Notice:   func(s string) { e.notice("%s", s) },
	}
}

// format returns the output format; a wrong one is found before anything else is done.
func (g *global) format() (render.Format, error) {
	f, err := render.ParseFormat(g.output)
	return f, usage(err)
}

// print writes a view in the format that the user chose. Output that cannot be written is a
// failure: who asked for it does not have it.
func (e *env) print(g *global, view render.View) error {
	f, err := g.format()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.stdout)
	if err := render.Write(w, f, view); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// reading opens the instance for a command that changes nothing.
func (e *env) reading(g *global, do func(*loader.Instance) error) error {
	if _, err := g.format(); err != nil {
		return err
	}
	i, err := loader.OpenToRead(g.options(e))
	if err != nil {
		return err
	}
	return closeAfter(i, do(i))
}

// changing opens the instance, locked, for a command that changes it.
func (e *env) changing(g *global, do func(*loader.Instance) error) error {
	return e.opened(g, func(i *loader.Instance) error {
		if err := e.settle(i); err != nil {
			return err
		}
		return do(i)
	})
}

// opened is changing for the ends of trials, which settle things themselves.
func (e *env) opened(g *global, do func(*loader.Instance) error) error {
	i, err := loader.Open(g.options(e))
	if err != nil {
		return err
	}
	defer uninterrupted()()
	return closeAfter(i, do(i))
}

func closeAfter(i *loader.Instance, err error) error {
	return errors.Join(err, i.Close())
}
