package main

import (
	"github.com/schollz/progressbar/v3"
)

// progressFrom is the number of steps from which it is worth showing them.
const progressFrom = 10_000

// progress shows how far a long change is, on a terminal only and beside the output proper.
type progress struct {
	bar *progressbar.ProgressBar // nil where nothing is shown
}

func (e *env) progress(steps int, what string) progress {
	if _, _, ok := e.terminal(e.stderr); !ok || steps < progressFrom {
		return progress{}
	}
	return progress{progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(e.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionClearOnFinish(),
	)}
}

func (p progress) set(done int) {
	if p.bar != nil {
		_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
}

func (p progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
