package replay

import (
	"errors"
	"fmt"
	"strings"
)

// Format is what a recording is.
type Format uint8

// The formats.
const (
	Trace Format = iota // a JSON object on each line
	Log                 // an access log
)

// Bad is a line that could not be read.
type Bad struct {
	Line   uint64
	Reason string
}

// Lines tells of the lines of a recording.
type Lines struct {
	// Read are all but empty ones.
	Read uint64
	// NoRequest are those of a Log that tell of no request, or of one so malformed that no server passes it on.
	NoRequest uint64
	// Unreadable are those that are not of the format, or too long; First are the first few of them.
	Unreadable uint64
	First      []Bad
	// OtherFormat are those of Unreadable that look like a line of the other format.
	OtherFormat uint64
}

// mostBad is how many lines that could not be read are kept with the reason.
const mostBad = 5

func (l *Lines) add(o *Lines) {
	l.Read += o.Read
	l.NoRequest += o.NoRequest
	l.Unreadable += o.Unreadable
	l.OtherFormat += o.OtherFormat
	l.First = append(l.First, o.First[:min(len(o.First), mostBad-len(l.First))]...)
}

func (l *Lines) unreadable(line uint64, reason string) {
	l.Unreadable++
	if len(l.First) < mostBad {
		l.First = append(l.First, Bad{line, strings.Clone(reason)})
	}
}

// batch is a chunk and what is in it. Its memory is used again.
type batch struct {
	chunk    chunk
	requests []Request
	lines    Lines
	done     chan struct{} // gets a value when it is parsed
}

// empty makes b an empty batch, but for memory. Nothing in it keeps a text, as one request that no later chunk is
// long enough to replace would keep the chunk that it is of.
func (b *batch) empty() {
	for i := range b.requests {
		b.requests[i].reset()
	}
	b.requests, b.lines = b.requests[:0], Lines{First: b.lines.First[:0]}
}

// parser parses batches. Each worker has its own.
type parser struct {
	format Format
	host   string // of requests of which it is not recorded
	names  names
	log    logParser
}

func newParser(f Format, host string) *parser { return &parser{format: f, host: host, names: names{}} }

func (p *parser) parse(b *batch) {
	b.empty()
	if b.chunk.tooLong {
		b.lines.Read++
		b.lines.unreadable(b.chunk.line, tooLong())
		return
	}
	p.log.text = "" // or it would keep the text of an earlier batch
	number := b.chunk.line
	for line := range strings.SplitSeq(b.chunk.text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.Trim(line, " \t") != "" {
			p.line(b, line, number)
		}
		number++
	}
}

func tooLong() string { return fmt.Sprintf("longer than %d MiB", MaxLine>>20) }

// line adds what a line tells.
func (p *parser) line(b *batch, line string, number uint64) {
	b.lines.Read++
	if len(line) > MaxLine {
		b.lines.unreadable(number, tooLong())
		return
	}
	r := b.add()
	r.Line = number
	err := p.request(line, r)
	switch {
	case err == nil:
		if r.Host == "" {
			r.Host = p.host
		}
		return
	case errors.Is(err, errNoRequest):
		b.lines.NoRequest++
	default:
		b.lines.unreadable(number, err.Error())
		if isObject := strings.HasPrefix(strings.TrimLeft(line, " \t"), "{"); isObject == (p.format == Log) {
			b.lines.OtherFormat++
		}
	}
	r.reset()
	b.requests = b.requests[:len(b.requests)-1]
}

func (p *parser) request(line string, r *Request) error {
	if p.format == Log {
		return p.log.parse(line, r)
	}
	return parseTrace(line, r, p.names)
}

// add adds an empty request, in memory of an earlier one if there is some: empty made that empty.
func (b *batch) add() *Request {
	n := len(b.requests)
	if n < cap(b.requests) {
		b.requests = b.requests[:n+1]
	} else {
		b.requests = append(b.requests, Request{})
	}
	r := &b.requests[n]
	if r.Header == nil {
		r.reset() // it is new
	}
	return r
}
