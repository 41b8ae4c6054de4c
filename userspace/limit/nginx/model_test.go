package nginx_test

import (
	"slices"

	"github.com/headgate/headgate/test/vectors"
)

// model is ngx_http_limit_req_module.c once more, with a slice for the queue and a
// number of nodes for the memory, and one request costs 1.
type model struct {
	rate  uint64
	room  int
	queue []*modelNode // the newest first
}

type modelNode struct {
	key          string
	last, excess int64
	count        int
}

type modelLimit struct {
	zone         *model
	burst, delay int64
	node         *modelNode
}

func (m *model) find(key string) *modelNode {
	i := slices.IndexFunc(m.queue, func(n *modelNode) bool { return n.key == key })
	if i < 0 {
		return nil
	}
	n := m.queue[i]
	m.queue = slices.Insert(slices.Delete(m.queue, i, i+1), 0, n)
	return n
}

func (m *model) recompute(n *modelNode, now int64) (ms, excess int64) {
	ms = now - n.last
	if ms < -60000 {
		ms = 1
	} else if ms < 0 {
		ms = 0
	}
	return ms, max(n.excess-int64(m.rate*uint64(ms)/1000)+1000, 0)
}

func (l *modelLimit) lookup(key string, now int64, account bool) (rc int, excess int64) {
	m := l.zone
	if n := m.find(key); n != nil {
		ms, excess := m.recompute(n, now)
		if excess > l.burst {
			return vectors.RCBusy, excess
		}
		if account {
			n.excess = excess
			if ms != 0 {
				n.last = now
			}
			return vectors.RCOK, excess
		}
		n.count++
		l.node = n
		return vectors.RCAgain, excess
	}
	m.expire(1, now)
	if len(m.queue) == m.room {
		m.expire(0, now)
	}
	n := &modelNode{key: key}
	m.queue = slices.Insert(m.queue, 0, n)
	if account {
		n.last = now
		return vectors.RCOK, 0
	}
	n.count = 1
	l.node = n
	return vectors.RCAgain, 0
}

func (m *model) expire(n int, now int64) {
	for n < 3 && len(m.queue) > 0 {
		tail := m.queue[len(m.queue)-1]
		if tail.count != 0 {
			return
		}
		if n != 0 {
			ms := max(now-tail.last, tail.last-now)
			if ms < 60000 || tail.excess-int64(m.rate*uint64(ms)/1000) > 0 {
				return
			}
		}
		n++
		m.queue = m.queue[:len(m.queue)-1]
	}
}

func (l *modelLimit) delayOf(excess int64) int64 {
	if excess <= l.delay {
		return 0
	}
	return (excess - l.delay) * 1000 / int64(l.zone.rate)
}

// handle is ngx_http_limit_req_handler. keys has an empty text for no key.
func handle(limits []*modelLimit, keys []string, now int64) outcome {
	var o outcome
	rc, excess := -5, int64(0)
	n := 0
	for ; n < len(limits); n++ {
		if keys[n] == "" {
			continue
		}
		rc, excess = limits[n].lookup(keys[n], now, n == len(limits)-1)
		o.lookups = append(o.lookups, vectors.LimitReqLookup{Zone: n, RC: rc, Excess: excess})
		if rc != vectors.RCAgain {
			break
		}
	}
	if rc == -5 {
		return o
	}
	if rc == vectors.RCBusy {
		for _, l := range limits[:n] {
			l.release()
		}
		o.verdict = "REJECTED"
		return o
	}
	delay := int64(0)
	if rc == vectors.RCOK {
		delay = limits[n].delayOf(excess)
	}
	for _, l := range slices.Backward(limits[:n]) {
		delay = max(delay, l.account(now))
	}
	if o.delay, o.verdict = ms(delay), "PASSED"; delay > 0 {
		o.verdict = "DELAYED"
	}
	return o
}

func (l *modelLimit) release() {
	if l.node != nil {
		l.node.count--
	}
	l.node = nil
}

func (l *modelLimit) account(now int64) int64 {
	n := l.node
	if n == nil {
		return 0
	}
	ms, excess := l.zone.recompute(n, now)
	if ms != 0 {
		n.last = now
	}
	n.excess = excess
	l.release()
	return l.delayOf(excess)
}
