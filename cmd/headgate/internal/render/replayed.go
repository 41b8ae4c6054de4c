package render

import (
	"encoding/json"
	"strconv"
	"time"
)

// Replayed is what became of a recorded request.
type Replayed struct {
	At      time.Duration // when it came
	Allowed bool
	Delay   time.Duration
	Status  int
	DryRun  bool
	// Zone and Rule are those of the limit that decided, Key is what that counted by, and Excess what it
	// said, in thousandths of a request. Empty if none was asked.
	Zone, Rule, Key string
	Excess          uint64
	// Client is who was charged; empty if not known.
	Client string
	Line   uint64
	// RetryAfter is of a refused one: negative if no waiting helps, or nobody knows.
	RetryAfter time.Duration
	// WouldRefuse and WouldDelay are what a rule with dry_run would have done, if DryRun.
	WouldRefuse bool
	WouldDelay  time.Duration
}

// AppendJSON appends r as an object on a line. It is written by hand, for the sake of millions of them.
func (r *Replayed) AppendJSON(b []byte) []byte {
	b = appendMilliseconds(append(b, `{"t_ms":`...), r.At)
	b = strconv.AppendBool(append(b, `,"allowed":`...), r.Allowed)
	b = appendMilliseconds(append(b, `,"delay_ms":`...), r.Delay)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(r.Status), 10)
	b = strconv.AppendBool(append(b, `,"dry_run":`...), r.DryRun)
	b = appendText(append(b, `,"zone":`...), r.Zone)
	b = appendThousandths(append(b, `,"excess":`...), r.Excess)
	b = appendText(append(b, `,"rule":`...), r.Rule)
	b = appendText(append(b, `,"key":`...), r.Key)
	b = appendText(append(b, `,"client":`...), r.Client)
	b = strconv.AppendUint(append(b, `,"line":`...), r.Line, 10)
	b = r.appendRetryAfter(b)
	b = r.appendWould(b)
	return append(b, "}\n"...)
}

// appendRetryAfter appends when a refused request would pass, null for never and if nobody knows.
func (r *Replayed) appendRetryAfter(b []byte) []byte {
	if r.Allowed {
		return b
	}
	b = append(b, `,"retry_after_ms":`...)
	if r.RetryAfter < 0 {
		return append(b, "null"...)
	}
	return appendMilliseconds(b, r.RetryAfter)
}

func (r *Replayed) appendWould(b []byte) []byte {
	switch {
	case !r.DryRun:
		return b
	case r.WouldRefuse:
		return append(b, `,"would":"refuse"`...)
	}
	return appendMilliseconds(append(b, `,"would":"delay","would_delay_ms":`...), r.WouldDelay)
}

// appendMilliseconds appends d exactly, with as many decimals as it has.
func appendMilliseconds(b []byte, d time.Duration) []byte {
	ns := uint64(d)
	if d < 0 {
		b, ns = append(b, '-'), -ns
	}
	b = strconv.AppendUint(b, ns/1e6, 10)
	if rest := ns % 1e6; rest != 0 {
		b = appendDecimals(b, rest, 1e5)
	}
	return b
}

// appendThousandths appends n/1000, with a decimal at least.
func appendThousandths(b []byte, n uint64) []byte {
	b = strconv.AppendUint(b, n/1000, 10)
	return appendDecimals(b, n%1000, 100)
}

// appendDecimals appends the point and the decimals of rest, the first of which stands for first of it.
func appendDecimals(b []byte, rest, first uint64) []byte {
	b = append(b, '.', '0'+byte(rest/first))
	for rest %= first; rest != 0; rest %= first {
		first /= 10
		b = append(b, '0'+byte(rest/first))
	}
	return b
}

// appendText appends s as JSON has it.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a text has no error
			return append(b, quoted...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}
