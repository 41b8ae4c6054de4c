package requests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/part"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/test/netlab"
)

// enter starts somebody who plays a part.
func (a *act) enter(in *netlab.Namespace, name string, s part.Script) (*process, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return a.start(in, "demo-part", name, string(text))
}

// enterAll starts the backend and the clients.
func (a *act) enterAll(ctx context.Context) (err error) {
	if a.backend, err = a.enter(a.pair.Far.Namespace, part.Backend, part.Script{Server: backend()}); err != nil {
		return err
	}
	if _, err = a.listen(ctx); err != nil { // it says that it is there
		return err
	}
	for _, m := range cast() {
		client, err := a.enter(a.pair.Near.Namespace, m.part, part.Script{From: m.addr, Server: proxy(), Limit: shown()})
		if err != nil {
			return err
		}
		a.clients = append(a.clients, client)
	}
	return nil
}

// counted asks the backend what it has counted so far.
func (a *act) counted(ctx context.Context) (part.Counted, error) {
	if err := a.backend.order(part.Count); err != nil {
		return nil, a.backend.failed()
	}
	return a.listen(ctx)
}

func (a *act) listen(ctx context.Context) (counted part.Counted, err error) {
	select {
	case line, ok := <-a.backend.lines:
		if !ok {
			return nil, a.backend.failed()
		}
		return counted, json.Unmarshal(line, &counted)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin has clients begin.
func (a *act) begin(who ...int) error {
	for _, n := range who {
		a.playing[n] = true
		if err := a.clients[n].order(part.Begin); err != nil {
			return a.clients[n].failed()
		}
	}
	return nil
}

// watch takes down what the clients see, and shows it, until enough says so.
func (a *act) watch(ctx context.Context, records []*record, enough func() bool) error {
	draw := time.NewTicker(drawEvery)
	defer draw.Stop()
	for !enough() {
		var err error
		select {
		case line, ok := <-a.clients[flooder].lines:
			err = a.take(flooder, line, ok, records)
		case line, ok := <-a.clients[visitor].lines:
			err = a.take(visitor, line, ok, records)
		case <-draw.C:
			err = a.live.Tick(time.Now(), picture(records))
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drawEvery is how often it is looked whether it is time to draw.
const drawEvery = 50 * time.Millisecond

// take takes down a line of a client.
func (a *act) take(who int, line []byte, ok bool, records []*record) error {
	if !ok {
		return a.clients[who].failed()
	}
	var s part.Seen
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("a client says %.100q: %w", line, err)
	}
	if s.Done {
		a.playing[who] = false
		return nil
	}
	records[who].note(s)
	return nil
}

// finish has the clients that play stop at a time of the boot clock, and watches until they have.
func (a *act) finish(ctx context.Context, records []*record, at int64) error {
	for n, plays := range a.playing {
		if !plays {
			continue
		}
		if err := a.clients[n].order("%s %d", part.Stop, at); err != nil {
			return a.clients[n].failed()
		}
	}
	return a.watch(ctx, records, func() bool { return a.playing == [2]bool{} })
}

// perform has clients play for some time, and returns what that has cost.
func (a *act) perform(ctx context.Context, records []*record, lasts time.Duration, who ...int) (costs, error) {
	before, err := a.costs()
	if err != nil {
		return costs{}, err
	}
	if err := a.begin(who...); err != nil {
		return costs{}, err
	}
	if err := a.finish(ctx, records, stage.BootTime()+lasts.Nanoseconds()); err != nil {
		return costs{}, err
	}
	after, err := a.costs()
	return after.since(before), err
}

// errSpared is that a flood was not stopped.
var errSpared = errors.New("the client that floods was not handed down")

// patience is for what takes milliseconds.
const patience = 10 * time.Second

// performUntilCut has the clients play until all connections of the one that floods are cut.
func (a *act) performUntilCut(ctx context.Context, records []*record) error {
	if err := a.begin(flooder, visitor); err != nil {
		return err
	}
	deadline := stage.BootTime() + patience.Nanoseconds()
	err := a.watch(ctx, records, func() bool {
		return records[flooder].knocks > 0 || stage.BootTime() > deadline
	})
	if err == nil && records[flooder].knocks == 0 {
		err = fmt.Errorf("%w within %v: %s", errSpared, patience, &a.agent.log)
	}
	return err
}

// near are the addresses of the clients, in the network of the proxy.
func near() (all []netip.Prefix) {
	for _, m := range cast() {
		all = append(all, netip.PrefixFrom(m.addr, 24))
	}
	return all
}
