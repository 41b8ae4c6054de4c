package config

// reader reads one file and collects what is wrong with it.
type reader struct {
	name     string
	errors   Errors
	warnings []Problem
	steps    int  // of regular expressions
	repeated int  // values that were reached through an alias
	stopped  bool // too much is wrong to go on
}

const (
	// maxErrors bounds the work on a file that is not a configuration at all.
	maxErrors = 100
	// maxRepeated bounds what aliases of aliases of aliases can amount to.
	maxRepeated = 100_000
)

// add adds an error, unless there are too many already.
func (r *reader) add(p Problem) {
	if r.stopped {
		return
	}
	r.errors = append(r.errors, r.own(p))
	if len(r.errors) < maxErrors {
		return
	}
	r.stopped = true
	r.errors = append(r.errors, Problem{File: r.name, Line: p.Line, Column: p.Column,
		Text: "too much is wrong to read on; mend this first"})
}

// own returns a problem of the file, whose text is one line for a terminal, whatever of the file
// it quotes.
func (r *reader) own(p Problem) Problem {
	p.File = r.name
	p.Text = printable(p.Text)
	return p
}

// repeat counts a value that is reached through an alias.
func (v value) repeat() {
	r := v.file
	r.repeated++
	if r.repeated > maxRepeated && !r.stopped {
		v.fail("aliases repeat more than %d values; write fewer", maxRepeated)
		r.stopped = true
	}
}
