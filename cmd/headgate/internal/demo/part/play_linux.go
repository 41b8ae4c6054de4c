package part

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/headgate/headgate/maps/wire"
)

// Play plays a part, and returns when the orders end.
func Play(name string, s Script, orders io.Reader, out io.Writer) error {
	switch name {
	case Flooder:
		return perform(&flooder{script: s}, orders, out)
	case Visitor:
		return perform(&visitor{script: s}, orders, out)
	case Backend:
		return serve(s, orders, out)
	default:
		return fmt.Errorf("part %q: use %s, %s or %s", name, Flooder, Visitor, Backend)
	}
}

// client is who sends requests.
type client interface {
	// act does a little, and returns what it saw.
	act() (Seen, error)
	// rest is called when the client is to stop.
	rest()
}

// perform has a client begin and stop as it is told.
func perform(c client, orders io.Reader, out io.Writer) error {
	p := &prompter{begin: make(chan struct{})}
	go p.listen(orders)
	told := json.NewEncoder(out)
	for range p.begin {
		for bootTime() < p.stop.Load() {
			seen, err := c.act()
			if err != nil {
				return err
			}
			if err := told.Encode(seen); err != nil {
				return fmt.Errorf("tell what was seen: %w", err)
			}
		}
		c.rest()
		if err := told.Encode(Seen{Done: true}); err != nil {
			return fmt.Errorf("tell what was seen: %w", err)
		}
	}
	c.rest()
	return nil
}

// prompter says to a client what it is told, by when it has to stop.
type prompter struct {
	begin chan struct{} // closed when there are no more orders
	stop  atomic.Int64  // ns of the boot clock
}

func (p *prompter) listen(orders io.Reader) {
	defer close(p.begin)
	defer p.stop.Store(0)
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		order, when, _ := strings.Cut(lines.Text(), " ")
		switch order {
		case Begin:
			p.stop.Store(math.MaxInt64)
			p.begin <- struct{}{}
		case Stop:
			at, _ := strconv.ParseInt(when, 10, 64) // 0 for none: at once
			p.stop.Store(at)
		}
	}
}

func bootTime() int64 { return int64(wire.BootTime()) }
