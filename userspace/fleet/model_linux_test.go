package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/redisconn"
)

// TestFake compares the fake of the other tests with the scripts, so that what those show is so of Redis.
func TestFake(t *testing.T) {
	s := redislab.Start(t)
	scripts, keys := newScripts(), newKeys("test", "a")
	real, fake := newRealConn(t, s.Addr), newFakeRedis().connect()
	real.know(scripts)
	fake.know(scripts)
	both := func(call redisconn.Call) {
		t.Helper()
		call.Args = append([]string{"epoch"}, call.Args...)
		var said [2][]string
		for i, c := range []conn{real, fake} {
			reply, err := c.DoPatiently(t.Context(), call, longest)
			if err != nil {
				t.Fatal(err)
			}
			h, says, err := readReply(reply)
			if err != nil {
				t.Fatal(err)
			}
			said[i] = append([]string{h.epoch, strconv.FormatUint(h.version, 10)}, timeless(says)...)
		}
		if !slices.Equal(said[0], said[1]) {
			t.Fatalf("%q:\nredis %q\nfake  %q", call.Args, said[0], said[1])
		}
	}
	random := rand.New(rand.NewPCG(6, 6))
	for range 1000 {
		both(redisconn.Call{Script: scripts.publish, Keys: keys.with(keys.quota), Args: randomPublish(random)})
		both(redisconn.Call{Script: scripts.look, Keys: keys.rules, Args: []string{
			[]string{"epoch", "epoch", "other"}[random.IntN(3)], strconv.Itoa(random.IntN(30)), strconv.Itoa(1 + random.IntN(5)),
		}})
	}
	both(redisconn.Call{Script: scripts.beat, Keys: keys.with(keys.members), Args: []string{"beat", "id", "words", "10000", "1000"}})
	both(redisconn.Call{Script: scripts.beat, Keys: keys.with(keys.members), Args: []string{"see", "id2", "words", "10000", "1000"}})
	both(redisconn.Call{Script: scripts.beat, Keys: keys.with(keys.members), Args: []string{"leave", "id", "words", "10000", "1000"}})
	if got := s.Do("HGET", keys.rules[0], "version"); got < "1" {
		t.Errorf("nothing was written: version %s", got)
	}
}

// randomPublish returns arguments of publish.lua. Bounds are so that they are reached.
func randomPublish(random *rand.Rand) []string {
	mode := []string{modeSet, modeShare, modeAgain, modeUnset}[random.IntN(4)]
	args := []string{mode, "channel", "500", "6"}
	for _, slot := range random.Perm(12)[:1+random.IntN(4)] {
		class, kind, at := []string{"h", "p"}[slot%2], "r", random.IntN(1000)
		if class == "p" && (mode == modeUnset || mode == modeAgain && random.IntN(3) == 0) {
			kind = "t" // of no more slots than may be remembered: the fake does not forget
		}
		if mode == modeAgain && random.IntN(2) == 0 {
			at += 1<<43 + random.IntN(1<<30) // after all that there is
		}
		left := random.IntN(1 << 40)
		switch {
		case random.IntN(5) == 0:
			left = 0
		case mode == modeUnset && kind == "t" && random.IntN(2) == 0:
			left = -1
		}
		args = append(args, fmt.Sprintf("%s 10.0.0.%d/32", class, slot), kind, strconv.Itoa(at), strconv.Itoa(left), class,
			"body"+strconv.Itoa(random.IntN(1000)))
	}
	return args
}

// timeless returns fields without what depends on when they were said.
func timeless(fields []string) (all []string) {
	for i, f := range fields {
		if parts := strings.SplitN(f, " ", 4); len(parts) == 4 {
			f = parts[0] + " " + parts[3]
		}
		if len(f) > 12 || len(fields) == 3 && i == 2 && f != "0" && f != "-1" {
			f = "later"
		}
		all = append(all, f)
	}
	return all
}
