package redisconn

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"
)

// probePatience is how long a probe may take to connect.
const probePatience = time.Second

// tried writes and reads: a server that is out of memory, cannot write to its disk or is a replica still answers PING.
var tried = NewScript(`redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000) return redis.call('GET', KEYS[1])`)

var errNonsense = errors.New("redis answered nonsense")

// nurse tries servers that are left alone until they are well and all calls may pass.
func (l *lane) nurse() {
	for l.rest() {
		l.conn.counts.probes.Add(1)
		fault := l.probe()
		if l.conn.ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		changed := l.breaker.probed(fault)
		l.nursed = l.breaker.phase != closed
		done := !l.nursed
		l.settle(aftermath{changed: changed})
		l.conn.watch.reason(fault)
		if done {
			return
		}
		if fault != nil {
			l.conn.transport.renew(l.conn.ctx)
		}
	}
}

// rest waits until it is time for the next probe, and reports whether there is to be one. Where calls that came back failed
// meanwhile, it begins again. Machines that lost a server at the same time do not come back at the same time.
func (l *lane) rest() bool {
	for {
		wait, era := l.pause()
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-l.conn.ctx.Done():
			return false
		}
		if _, now := l.pause(); now == era {
			return true
		}
	}
}

func (l *lane) pause() (wait time.Duration, era int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaker.wait(), l.breaker.era
}

// probe returns what is wrong with the servers. The first round trip may have to connect; the second must be in time.
func (l *lane) probe() error {
	ctx, cancel := context.WithTimeout(l.conn.ctx, probePatience)
	defer cancel()
	if _, err := l.tryOnce(ctx); err != nil {
		return err
	}
	took, err := l.tryOnce(ctx)
	if err != nil {
		return err
	}
	return l.conn.tooLate(took)
}

func (l *lane) tryOnce(ctx context.Context) (time.Duration, error) {
	text := strconv.FormatUint(rand.Uint64(), 36)
	var jobs []*job
	for _, key := range l.probes {
		jobs = append(jobs, newJob(Call{Script: tried, Keys: []string{key}, Args: []string{text}}))
	}
	start := time.Now()
	l.conn.transport.exchange(ctx, jobs)
	took := time.Since(start)
	for _, j := range jobs {
		if j.err != nil {
			return took, j.err
		}
		if j.reply != text {
			return took, errNonsense
		}
	}
	return took, nil
}

// probeKeys returns keys for the probes of a lane: in a cluster one of its first slots and one of its last, as it may have two
// masters.
func probeKeys(prefix string, lane, lanes int) []string {
	if lanes == 1 {
		return []string{prefix + ":probe"}
	}
	const near = slots / clusterLanes / 16
	first := lane * slots / lanes
	last := (lane+1)*slots/lanes - 1
	return []string{keyWithin(prefix, first, first+near), keyWithin(prefix, last-near, last)}
}

// keyWithin returns a key in one of the slots from first to last. Where the prefix decides the slot, it is in that.
func keyWithin(prefix string, first, last int) string {
	key := ""
	for i := range 1 << 14 {
		key = prefix + ":probe:{" + strconv.Itoa(i) + "}"
		if s := int(slot(key)); first <= s && s <= last {
			break
		}
	}
	return key
}
