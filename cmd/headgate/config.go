package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/userspace/config"
)

// standardInput is what "-" is called.
const standardInput = "standard input"

// configFlag is the flag that names a configuration file.
type configFlag struct{ file string }

func (f *configFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "config", "c", "", "the configuration file, - for standard input")
	placeholders(cmd, map[string]string{"config": "FILE"})
	completeFlag(cmd, "config", cobra.FixedCompletions([]cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
}

// require returns an error if no file is named.
func (f *configFlag) require(cmd *cobra.Command) error {
	if f.file == "" {
		return usagef("name the configuration file: %s -c headgate.yaml", cmd.CommandPath())
	}
	return nil
}

// name returns what messages call the file.
func (f *configFlag) name() string {
	if f.file == "-" {
		return standardInput
	}
	return f.file
}

// read reads the file. Errors and warnings of it name it as the user did.
func (f *configFlag) read(e *env) (*config.File, error) {
	in, name, err := e.open(f.file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return config.Read(name, in)
}

// used reads the file for a command that uses it, and notices what is doubtful in it.
func (f *configFlag) used(e *env) (*config.File, error) {
	file, err := f.read(e)
	if err != nil {
		return nil, err
	}
	for _, w := range file.Warnings {
		e.notice("warning: %s", w)
	}
	return file, nil
}

// open opens a file, or standard input for "-", and returns what messages call it.
func (e *env) open(file string) (io.ReadCloser, string, error) {
	if file == "-" {
		return io.NopCloser(e.stdin), standardInput, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, "", err // it says "open" and which file
	}
	return f, file, nil
}
