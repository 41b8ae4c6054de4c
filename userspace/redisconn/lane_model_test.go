package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
)

// asked is one call of TestCallsEndOnce, and what came of it.
type asked struct {
	kind  string // do, start, patient
	at    time.Duration
	spent time.Duration // of do
	may   time.Duration // of patient

	mu    sync.Mutex
	ended int
	took  time.Duration
	until time.Time
	reply string
	err   error
	sent  []time.Time
}

func (a *asked) end(began time.Time, reply string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended++
	a.until = time.Now()
	a.took, a.reply, a.err = a.until.Sub(began), reply, err
}

// patience is how long it may take at most.
func (a *asked) patience() time.Duration {
	switch a.kind {
	case "do":
		return max(timeout-a.spent, 0)
	case "patient":
		return a.may
	}
	return timeout
}

func (a *asked) ask(b *bench, key string) {
	began := time.Now()
	switch a.kind {
	case "do":
		reply, err := b.Do(ask(key), a.spent)
		a.end(began, reply, err)
	case "start":
		b.Start(ask(key), func(reply string, err error) { a.end(began, reply, err) })
	case "patient":
		reply, err := b.DoPatiently(context.Background(), ask(key), a.may)
		a.end(began, reply, err)
	}
}

// wrong returns what is wrong with how a call with a key ended.
func (a *asked) wrong(key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended != 1:
		return fmt.Errorf("%d ends", a.ended)
	case a.took > a.patience():
		return fmt.Errorf("waited %v, more than %v", a.took, a.patience())
	case a.err == nil && (a.reply != key || len(a.sent) != 1):
		return fmt.Errorf("answered %q, sent %d times", a.reply, len(a.sent))
	case errors.Is(a.err, ErrTimeout) && a.took != a.patience() && !errors.Is(a.err, context.DeadlineExceeded):
		return fmt.Errorf("timed out after %v, not %v", a.took, a.patience())
	case a.kind != "patient" && (errors.Is(a.err, ErrOpen) || errors.Is(a.err, ErrBusy)) && len(a.sent) > 0:
		return fmt.Errorf("sent, and told %w", a.err)
	case len(a.sent) > 1:
		return fmt.Errorf("sent %d times", len(a.sent))
	case len(a.sent) == 1 && a.sent[0].After(a.until):
		return fmt.Errorf("sent %v after its end with %w", a.sent[0].Sub(a.until), a.err)
	}
	return nil
}

// spell is how servers are from some time on.
type spell struct {
	at   time.Duration
	kind string
	took time.Duration
}

// behave does what a spell says.
func (s spell) behave(ctx context.Context, jobs []*job) {
	switch s.kind {
	case "well":
		after(s.took)(ctx, jobs)
	case "never":
		never(ctx, jobs)
	case "deaf": // does not mind that nobody waits
		time.Sleep(40 * s.took)
		fail(errRefused)(ctx, jobs)
	case "fault":
		time.Sleep(s.took)
		fail(errRefused)(ctx, jobs)
	case "some":
		after(s.took)(ctx, jobs)
		for i := 0; i < len(jobs); i += 2 {
			jobs[i].reply, jobs[i].err = "", answered("WRONGTYPE")
		}
	}
}

// plan is what happens in a run of TestCallsEndOnce.
type plan struct {
	calls  []*asked
	spells []spell
	room   int
	lanes  int
	close  time.Duration // 0 for not before the end
}

func drawPlan(t *rapid.T, most int) plan {
	us := func(most int, label string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * 500 * time.Microsecond
	}
	p := plan{
		room:  rapid.SampledFrom([]int{1, 3, 10, 64, 4096}).Draw(t, "room"),
		lanes: rapid.SampledFrom([]int{1, 16}).Draw(t, "lanes"),
	}
	for range rapid.IntRange(1, most).Draw(t, "calls") {
		a := &asked{kind: rapid.SampledFrom([]string{"do", "do", "start", "patient"}).Draw(t, "kind"), at: us(400, "at")}
		switch a.kind {
		case "do":
			a.spent = us(44, "spent")
		case "patient":
			a.may = us(200, "may")
		}
		p.calls = append(p.calls, a)
	}
	p.spells = append(p.spells, spell{kind: "well", took: us(20, "first")})
	for range rapid.IntRange(0, 8).Draw(t, "spells") {
		p.spells = append(p.spells, spell{us(400, "from"), rapid.SampledFrom([]string{"well", "never", "deaf", "fault", "some"}).Draw(t, "is"), us(50, "takes")})
	}
	if rapid.Bool().Draw(t, "closes") {
		p.close = us(400, "closed at") + 1
	}
	return p
}

// run returns all that is wrong.
func (p plan) run(t *testing.T) (wrong []error) {
	b := start(t, p.lanes, config.Redis{MaxInFlight: p.room * p.lanes})
	p.serve(b)
	var all sync.WaitGroup
	for i, a := range p.calls {
		all.Go(func() {
			time.Sleep(a.at)
			a.ask(b, strconv.Itoa(i))
			if n := b.State().InFlight; n < 0 || n > p.room*p.lanes {
				t.Errorf("%d calls at a time, where there is room for %d", n, p.room*p.lanes)
			}
		})
	}
	if p.close > 0 {
		all.Go(func() {
			time.Sleep(p.close)
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	time.Sleep(2 * time.Second) // what was started and sent has ended
	synctest.Wait()
	s := b.State()
	ok := uint64(0)
	for i, a := range p.calls {
		if err := a.wrong(strconv.Itoa(i)); err != nil {
			wrong = append(wrong, fmt.Errorf("call %d, %s at %v: %w", i, a.kind, a.at, err))
		}
		if a.err == nil {
			ok++
		}
	}
	if s.InFlight != 0 || s.Calls != uint64(len(p.calls)) || s.Calls != ok+s.Timeouts+s.Errors+s.Busy+s.LeftAlone {
		wrong = append(wrong, fmt.Errorf("%d calls, %d answered: %+v", len(p.calls), ok, s))
	}
	return wrong
}

// serve has the servers of b be as the plan says.
func (p plan) serve(b *bench) {
	slices.SortStableFunc(p.spells[1:], func(a, b spell) int { return int(a.at - b.at) })
	began := time.Now()
	b.fake.set(func(ctx context.Context, jobs []*job) {
		now := time.Now()
		at := p.spells[0]
		for _, s := range p.spells {
			if s.at <= now.Sub(began) {
				at = s
			}
		}
		for _, j := range jobs {
			if n, err := strconv.Atoi(j.text[0]); err == nil { // no probe
				a := p.calls[n]
				a.mu.Lock()
				a.sent = append(a.sent, now)
				a.mu.Unlock()
			}
		}
		at.behave(ctx, jobs)
	})
}

// Whatever the servers do, and whenever it is closed, each call ends once, when it may at the latest, and is not sent after that.
func TestCallsEndOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt, 60)
		var wrong []error
		synctest.Test(t, func(t *testing.T) { wrong = p.run(t) })
		if len(wrong) > 0 {
			rt.Fatal(errors.Join(wrong...))
		}
	})
}
