package redisconn

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// TestSlot has slots that Redis says of keys (CLUSTER KEYSLOT).
func TestSlot(t *testing.T) {
	for key, want := range map[string]uint16{
		"123456789": 12739, "": 0, "foo": 12182, "{foo}bar": 12182, "x{foo}{bar}": 12182, "{}foo": 9500, "foo{": 7673, "\xff{a}": 15495,
	} {
		if got := slot(key); got != want {
			t.Errorf("%q: slot %d, want %d", key, got, want)
		}
	}
}

// TestProbeKeys has each lane tried near both ends, where another master may begin.
func TestProbeKeys(t *testing.T) {
	for i := range clusterLanes {
		keys := probeKeys("p:", i, clusterLanes)
		for k, at := range []int{i * 1024, i*1024 + 1023} {
			if s := int(slot(keys[k])); s*clusterLanes/slots != i || max(s-at, at-s) > 64 {
				t.Errorf("lane %d: key %s in slot %d", i, keys[k], s)
			}
		}
	}
	if got := probeKeys("{p}", 3, clusterLanes); len(got) != 2 {
		t.Errorf("a prefix that decides: %v", got)
	}
}

// TestLanes has a master of a cluster go: calls to others do not notice.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, clusterLanes, config.Redis{MaxInFlight: 1600})
		dead := func(j *job) bool { return slot(j.text[0]) < 4096 }
		b.fake.set(func(ctx context.Context, jobs []*job) {
			if slices.ContainsFunc(jobs, dead) {
				never(ctx, jobs)
			} else {
				after(time.Millisecond)(ctx, jobs)
			}
		})
		begin := time.Now()
		for i := 0; time.Since(begin) < 30*time.Second; i++ {
			call := ask(strconv.Itoa(i))
			if slot(call.Keys[0]) < 4096 {
				b.Start(call, func(string, error) {})
				continue
			}
			asked := time.Now()
			if _, err := b.Do(call, 0); err != nil || time.Since(asked) != time.Millisecond {
				t.Fatalf("%v after %v", err, time.Since(asked))
			}
		}
		if s := b.State(); s.Health != Partly || s.Opened != 4 {
			t.Errorf("%+v", s)
		}
		b.fake.set(after(time.Millisecond))
		b.well(t)
		if want := []Health{Partly, Up}; !slices.Equal(b.states, want) {
			t.Errorf("%v", b.states)
		}
	})
}

// TestLaneIsBusy has calls to one master use up no room of others'.
func TestLaneIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, clusterLanes, config.Redis{MaxInFlight: clusterLanes * 5})
		ended, _ := b.all(20)
		if ended[nil] != 5 || ended[ErrBusy] != 15 {
			t.Errorf("%v", ended)
		}
	})
}
