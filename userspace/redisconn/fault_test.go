package redisconn

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestFaults(t *testing.T) {
	for _, one := range []struct {
		err  error
		is   bool
		mend string
	}{
		{nil, false, ""},
		{errRefused, true, "runs"},
		{io.EOF, true, "protected mode"},
		{fmt.Errorf("write: %w", syscall.EPIPE), true, "protected mode"},
		{context.DeadlineExceeded, true, "runs"},
		{ErrTimeout, true, "redis.timeout"},
		{fmt.Errorf("%w: an int64", errNonsense), true, "redis.addrs"},
		{redis.Nil, true, "redis.addrs"},
		{answered("OOM command not allowed when used memory > 'maxmemory'. script: 9ad, on @user_script:1."), true, "maxmemory"},
		{answered("ERR Error running script (call to f_9ad): @user_script:1: @user_script: 1: -OOM command not allowed"), true, "maxmemory"},
		{answered("MISCONF Redis is configured to save RDB snapshots"), true, "disk"},
		{answered("LOADING Redis is loading the dataset in memory"), true, "wait"},
		{answered("READONLY You can't write against a read only replica."), true, "master"},
		{answered("MASTERDOWN Link with MASTER is down"), true, "master"},
		{answered("CLUSTERDOWN The cluster is down"), true, "CLUSTER INFO"},
		{answered("NOAUTH Authentication required."), true, "password_file"},
		{answered("WRONGPASS invalid username-password pair or user is disabled."), true, "password_file"},
		{answered("NOPERM this user has no permissions to run the 'evalsha' command"), true, "prefix"},
		{answered("ERR The user executing the script can't run this command or subcommand script: 9ad, on @user_script:1."), true, "prefix"},
		{answered("ERR ACL failure in script: No permissions to access a key script: 9ad, on @user_script:1."), true, "prefix"},
		{answered("BUSY Redis is busy running a script."), true, "SCRIPT KILL"},
		{answered("ERR max number of clients reached"), true, "maxclients"},
		{answered("WRONGTYPE Operation against a key holding the wrong kind of value"), false, ""},
		{answered("ERR user_script:1: attempt to index a nil value"), false, ""},
		{answered("TRYAGAIN Multiple keys request during rehashing of slot"), false, ""},
		{answered("CROSSSLOT Keys in request don't hash to the same slot"), false, ""},
	} {
		if got := isFault(one.err); got != one.is {
			t.Errorf("%v: %v", one.err, got)
		}
		if got := mend(one.err); one.is && !strings.Contains(got, one.mend) {
			t.Errorf("%v: %s", one.err, got)
		}
	}
}
