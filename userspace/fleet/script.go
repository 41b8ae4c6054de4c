package fleet

import (
	"context"
	"crypto/rand"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

// patience is how long an answer of Redis is waited for: no request waits for one.
const patience = 2 * time.Second

var (
	//go:embed lua/begin.lua
	beginLua string
	//go:embed lua/beat.lua
	beatLua string
	//go:embed lua/look.lua
	lookLua string
	//go:embed lua/publish.lua
	publishLua string
)

// scripts are what runs in Redis.
type scripts struct{ beat, look, publish *redisconn.Script }

func newScripts() scripts {
	return scripts{
		beat:    redisconn.NewScript(beginLua + beatLua),
		look:    redisconn.NewScript(beginLua + lookLua),
		publish: redisconn.NewScript(beginLua + publishLua),
	}
}

// keys are the keys of a fleet, in one slot of a cluster, and its channel.
type keys struct {
	rules          []string // as begin.lua has them
	members, quota string
	channel        string
}

func newKeys(prefix, name string) keys {
	prefix += ":{fleet}:"
	return keys{
		rules:   []string{prefix + "rules", prefix + "ends", prefix + "gone", prefix + "changes"},
		members: prefix + "members", quota: prefix + "published:" + name, channel: prefix + "changed",
	}
}

// with returns the keys of the rules, and others after them.
func (k keys) with(others ...string) []string {
	return append(k.rules[:len(k.rules):len(k.rules)], others...)
}

// head is what all scripts say first: when, and which version of the rules of which epoch there is. A version counts
// changes since the epoch began.
type head struct {
	at      int64 // ms, by the clock of Redis
	epoch   string
	version uint64
}

// errNonsense is of an answer that none of the scripts gives.
var errNonsense = errors.New("redis answered what no script of the fleet says")

// run runs a script and returns what it says, after its head.
func (f *Fleet) run(ctx context.Context, s *redisconn.Script, keys []string, args ...string) (h head, says []string, err error) {
	call := redisconn.Call{Script: s, Keys: keys, Args: append([]string{rand.Text()}, args...)}
	sent := time.Now()
	reply, err := f.o.Conn.DoPatiently(ctx, call, patience)
	switch {
	case err == nil:
	case redisconn.Answered(err):
		return head{}, nil, fmt.Errorf("redis answered: %w", err)
	case errors.Is(err, redisconn.ErrTimeout), errors.Is(err, redisconn.ErrClosed):
		return head{}, nil, err // which names it
	default:
		return head{}, nil, fmt.Errorf("redis cannot be asked: %w", err)
	}
	h, says, err = readReply(reply)
	if err == nil {
		f.clock.learn(h.at, sent, time.Now())
	}
	return h, says, err
}

// readReply reads what a script returned.
func readReply(reply string) (h head, says []string, err error) {
	fields, err := unpack(reply)
	if err != nil {
		return head{}, nil, err
	}
	if len(fields) < 3 || fields[1] == "" {
		return head{}, nil, fmt.Errorf("%w: %d fields", errNonsense, len(fields))
	}
	at, err := number(fields[0])
	if err != nil {
		return head{}, nil, err
	}
	version, err := number(fields[2])
	return head{at, fields[1], uint64(version)}, fields[3:], err
}

// unpack reads fields each of which has its length before it: "5:hello3:you".
func unpack(text string) (fields []string, err error) {
	for text != "" {
		size, rest, found := strings.Cut(text, ":")
		n, err := strconv.ParseUint(size, 10, 31)
		if err != nil || !found || n > uint64(len(rest)) {
			return nil, fmt.Errorf("%w: the length of field %d is not one", errNonsense, len(fields)+1)
		}
		fields, text = append(fields, rest[:n]), rest[n:]
	}
	return fields, nil
}

// mostDigits keeps numbers where Lua, which has only float64, counts exactly.
const mostDigits = 15

// number reads a time in ms, a version or a count.
func number(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || len(text) > mostDigits {
		return 0, fmt.Errorf("%w: %.20q is no number", errNonsense, text)
	}
	return int64(n), nil
}
