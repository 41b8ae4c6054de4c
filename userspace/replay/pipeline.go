package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// pipeline reads chunks, has them parsed on all CPUs, and hands them on in order.
type pipeline struct {
	cutter *cutter
	free   chan *batch // to be used
	parse  chan *batch // to be parsed
	order  chan *batch // parsed or about to be, in order
	err    error       // why reading ended; to be read when order is closed
}

// batchesPerCPU keep the CPUs busy while the reader or the consumer is slow.
const batchesPerCPU = 3

func newPipeline(r io.Reader) *pipeline {
	n := batchesPerCPU * runtime.GOMAXPROCS(0)
	p := &pipeline{cutter: newCutter(r), free: make(chan *batch, n), parse: make(chan *batch, n), order: make(chan *batch, n)}
	for range n {
		p.free <- &batch{done: make(chan struct{}, 1)}
	}
	return p
}

// each calls do for each batch, in order, until it returns an error or ctx ends. It does not wait for
// a reader that is blocked.
func (p *pipeline) each(ctx context.Context, newParser func() *parser, do func(*batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	go p.read(ctx)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { p.work(ctx, newParser()) })
	}
	for {
		b, err := p.next(ctx)
		if err != nil || b == nil {
			return err
		}
		if err := do(b); err != nil {
			return err
		}
		p.free <- b // has room for all
	}
}

// next returns the next batch when it is parsed; nil behind the last.
func (p *pipeline) next(ctx context.Context) (*batch, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case b, more := <-p.order:
		if !more {
			return nil, p.err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.done:
			return b, nil
		}
	}
}

// read reads chunks until the end, or until ctx ends.
func (p *pipeline) read(ctx context.Context) {
	defer close(p.parse)
	defer close(p.order)
	for {
		var b *batch
		select {
		case <-ctx.Done():
			return
		case b = <-p.free:
		}
		c, err := p.cutter.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.err = fmt.Errorf("read the recording: %w", err)
			}
			return
		}
		b.chunk = c
		p.order <- b // both have room for all
		p.parse <- b
	}
}

// work parses batches until there are no more, or until ctx ends.
func (p *pipeline) work(ctx context.Context, with *parser) {
	for {
		select {
		case <-ctx.Done():
			return
		case b, more := <-p.parse:
			if !more {
				return
			}
			with.parse(b)
			b.done <- struct{}{}
		}
	}
}
