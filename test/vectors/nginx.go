// Package vectors reads what was recorded from other limiters, for tests that compare ours with them.
package vectors

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// LimitReqFile is where what was recorded from nginx's limit_req is, from the root of the module.
const LimitReqFile = "userspace/limit/nginx/testdata/nginx-limit-req.jsonl"

// LimitReq is a location of nginx with several limit_req, and requests to it.
type LimitReq struct {
	Zones  []LimitReqZone    `json:"zones"` // in the order of the configuration
	DryRun bool              `json:"dry_run"`
	Steps  []LimitReqRequest `json:"steps"`
}

// LimitReqZone is a limit_req and its limit_req_zone.
type LimitReqZone struct {
	Rate  string `json:"rate"` // in nginx's notation
	Burst uint64 `json:"burst"`
	Mode  string `json:"mode"` // delay, nodelay or delayN
	// Delay is the N of delayN, otherwise nil.
	Delay *uint64 `json:"delay"`
	Key   string  `json:"key"` // a or b
}

// Free returns how many requests of a burst go on at once: what package nginx takes as delay.
func (z LimitReqZone) Free() uint64 {
	switch {
	case z.Mode == "nodelay":
		return z.Burst
	case z.Delay != nil:
		return *z.Delay
	}
	return 0
}

// LimitReqRequest is a request and what nginx did.
type LimitReqRequest struct {
	T       int64  `json:"t"` // ms, of a clock that may go back
	A       string `json:"a"` // the keys; a zone whose key is empty is not asked
	B       string `json:"b"`
	Verdict string `json:"verdict"` // $limit_req_status; empty where no zone was asked
	Status  int    `json:"status"`
	// DelayMS is how long it was delayed, nil if it was not.
	DelayMS *int64           `json:"delay_ms"`
	Lookups []LimitReqLookup `json:"zones"` // in order
}

// Key returns the key of z in the request.
func (r LimitReqRequest) Key(z LimitReqZone) string {
	if z.Key == "a" {
		return r.A
	}
	return r.B
}

// Now returns the time of the request.
func (r LimitReqRequest) Now() time.Duration { return time.Duration(r.T) * time.Millisecond }

// Delay returns how long the request was delayed.
func (r LimitReqRequest) Delay() time.Duration {
	if r.DelayMS == nil {
		return 0
	}
	return time.Duration(*r.DelayMS) * time.Millisecond
}

// LimitReqLookup is what a zone was asked and said.
type LimitReqLookup struct {
	Zone   int
	RC     int   // RCOK, RCAgain or RCBusy
	Excess int64 // milli-requests
}

// What nginx's look-ups return.
const (
	RCOK    = 0  // allowed and charged: the last zone
	RCAgain = -2 // allowed, to be charged if the zones behind allow it too
	RCBusy  = -3 // refused
)

// UnmarshalJSON reads [zone, rc, excess].
func (l *LimitReqLookup) UnmarshalJSON(b []byte) error {
	var numbers []int64
	if err := json.Unmarshal(b, &numbers); err != nil {
		return err
	}
	if len(numbers) != 3 {
		return fmt.Errorf("look-up %s: want [zone, rc, excess]", b)
	}
	*l = LimitReqLookup{int(numbers[0]), int(numbers[1]), numbers[2]}
	return nil
}

// LimitReqs returns all that was recorded from nginx's limit_req.
func LimitReqs(tb testing.TB) []LimitReq {
	tb.Helper()
	file, err := os.Open(filepath.Join(root(tb), filepath.FromSlash(LimitReqFile)))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var cases []LimitReq
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c LimitReq
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatalf("%s:%d: %v", LimitReqFile, len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return cases
}

// root returns the directory of the module. Tests run in that of their package, below it.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir
		}
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent
			continue
		}
		tb.Fatalf("no module around the test: %v", err)
	}
}
