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
	conn, err := redisconn.Open(redisconn.Options{Config: redis, Log: a.log, Changed: a.tellStore})
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

// tellStore tells who listens how Redis is. The log has it already.
func (a *Agent) tellStore(s redisconn.State) {
	e := event.Event{Time: time.Now(), Kind: event.StoreDown, Name: string(s.Health), Reason: s.Error}
	if s.Health == redisconn.Up {
		e.Kind = event.StoreUp
	}
	a.bus.Publish(e)
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
