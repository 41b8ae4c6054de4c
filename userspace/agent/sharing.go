package agent

import (
	"context"
	"reflect"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/redisstore"
	"github.com/headgate/headgate/userspace/ruleset"
)

// sharing is what this machine shares with others by a Redis.
type sharing struct {
	redis config.Redis
	conn  *redisconn.Conn
	store *redisstore.Store
	stop  context.CancelFunc // ends what the store does by itself
}

// prepareSharing makes what the file wants to share, unless it is there.
func (a *Agent) prepareSharing(c *change) (err error) {
	if c.file.Redis == nil {
		return nil
	}
	if now := a.state.sharing; now != nil && reflect.DeepEqual(now.redis, *c.file.Redis) {
		c.sharing = now
		return nil
	}
	if c.sharing, err = a.newSharing(*c.file.Redis); err == nil {
		c.undo = append(c.undo, c.sharing.close)
	}
	return err
}

func (a *Agent) newSharing(redis config.Redis) (*sharing, error) {
	conn, err := redisconn.Open(redisconn.Options{Config: redis, Log: a.log, Changed: a.storeTeller()})
	if err != nil {
		return nil, err
	}
	store := redisstore.New(redisstore.Options{Conn: conn, Prefix: redis.Prefix, Clock: a.clock, Log: a.log})
	ctx, stop := context.WithCancel(context.Background())
	a.do(func() { store.Run(ctx) })
	return &sharing{redis, conn, store, stop}, nil
}

// lookEvery is how often is looked whether requests hold places by a sharing that is not used any more: if nobody renewed
// those, Redis would give them to others.
const lookEvery = time.Second

// close ends it. What requests still hold in Redis ends by itself.
func (s *sharing) close() {
	s.stop()
	_ = s.conn.Close() // of connections that are not used any more
}

// storeTeller returns what tells who listens how a Redis is. The log has it already. That it answers again and requests come
// back by and by is not told: it is on its way up, or about to be down as before.
func (a *Agent) storeTeller() func(redisconn.State) {
	told := redisconn.Up
	var since time.Time
	return func(s redisconn.State) {
		if s.Health == redisconn.Probing || s.Health == told {
			return
		}
		if told == redisconn.Up {
			since = s.Since
		}
		told = s.Health
		a.bus.Publish(storeEvent(s, since))
	}
}

// storeEvent tells how a Redis is that was not well since then.
func storeEvent(s redisconn.State, since time.Time) event.Event {
	e := event.Event{Time: time.Now(), Kind: event.StoreDown, Reason: s.Error}
	switch s.Health {
	case redisconn.Up:
		e.Kind, e.Reason = event.StoreUp, "it answers again after "+event.Roughly(s.Since.Sub(since)).String()
	case redisconn.Partly:
		e.Reason = "part of the cluster: " + s.Error
	}
	return e
}

// machines returns what the rules of requests need of a sharing, which may be nil.
func (a *Agent) machines(s *sharing) ruleset.Fleet {
	if s == nil {
		return ruleset.Fleet{}
	}
	members := 1
	if f := a.fleet.Load(); f != nil {
		members = f.Members()
	}
	return ruleset.Fleet{Store: s.store, Members: members}
}

// settleSharing shares what the file says from now on. What was shared before is closed when the requests have ended that
// began by it, or hold nothing by it any more.
func (a *Agent) settleSharing(c *change) {
	before := a.state.sharing
	a.state.sharing = c.sharing
	a.settleFleet(before, c.file)
	if before != nil && before != c.sharing {
		a.do(func() { a.retireSharing(before, c.file.Timeouts.Drain) })
	}
}

func (a *Agent) retireSharing(s *sharing, drain time.Duration) {
	defer s.close()
	t := time.NewTimer(drain)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-a.closing:
			return
		}
		if s.store.Counters().Leases == 0 {
			return
		}
		t.Reset(lookEvery)
	}
}
