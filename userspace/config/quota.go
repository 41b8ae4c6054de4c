package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/limit/nginx"
	"github.com/headgate/headgate/userspace/rate"
)

// quota returns a rate as algorithm a takes it.
func (v value) quota(a Algorithm) Quota {
	text, ok := v.text()
	if !ok {
		return Quota{}
	}
	q, err := ParseQuota(a, text)
	if err == nil {
		return q
	}
	meant := otherUnit(a, text)
	switch {
	case negative(text):
		v.fail("%.40q is negative; use %s or more", text, a.lowest())
	case meant != "":
		v.fail("%.40q: %s", text, meant)
	case errors.Is(err, rate.ErrZero):
		v.fail("%s; use %s or more", bare(err), a.lowest())
	default:
		v.fail("%s", bare(err))
	}
	return Quota{}
}

// lowest returns the lowest rate that is whole.
func (a Algorithm) lowest() string {
	if a == Nginx {
		return "1r/m"
	}
	return "1r/h"
}

// otherUnit says what is meant by a rate in a unit that others have, "" if there is nothing to say.
func otherUnit(a Algorithm, text string) string {
	number := text[:len(text)-len(strings.TrimLeft(text, "0123456789."))]
	suffix := strings.ToLower(text[len(number):])
	for unit, spelt := range map[string][]string{
		"r/s": {"r/s", "rps", "qps", "/s", "/sec", "/second", "r/sec", "r/second", "req/s", "req/sec"},
		"r/m": {"r/m", "rpm", "qpm", "/m", "/min", "/minute", "r/min", "r/minute", "req/m", "req/min"},
		"r/h": {"r/h", "rph", "qph", "/h", "/hour", "r/hour", "req/h", "req/hour"},
	} {
		if !slices.Contains(spelt, suffix) {
			continue
		}
		if _, err := ParseQuota(a, number+unit); err == nil {
			return "did you mean " + number + unit + "?"
		}
	}
	if slices.Contains([]string{"r/d", "rpd", "/d", "/day", "r/day", "req/d", "req/day"}, suffix) {
		return ofDay(a, text, number)
	}
	return ""
}

// ofDay says what to use for a number of requests per day, "" if it is no number.
func ofDay(a Algorithm, text, number string) string {
	perDay, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return ""
	}
	exact, unit := perDay/24, "r/h"
	if a == Nginx { // which has no rates per hour
		exact, unit = perDay/(24*60), "r/m"
	}
	near := fmt.Sprintf("%.0f%s", exact, unit)
	_, err = ParseQuota(a, near)
	if off := math.Abs(math.Round(exact) - exact); err != nil || off > exact/10 {
		return "there are no rates per day; use " + a.lowest() + " or more"
	}
	return fmt.Sprintf("there are no rates per day; %.40s is about %s", text, near)
}

// ParseQuota reads a rate as a zone of algorithm a takes it: 10r/s, 30r/m or 100r/h.
func ParseQuota(a Algorithm, text string) (Quota, error) {
	count, per, err := rate.ParseQuota(text)
	switch a {
	case Window, Sliding: // Their counters are whole, and so is what they count to.
	case Nginx:
		if err != nil {
			break
		}
		if _, err = nginx.RateOf(count, per); err != nil {
			err = fmt.Errorf("rate %.40q: %w", text, err)
		}
	default:
		if err != nil { // 1.5r/s is as good as 90r/m
			var r rate.Rate
			r, err = rate.ParseRequests(text)
			count, per = r.Count, r.Per
		}
	}
	if err != nil {
		return Quota{}, err
	}
	return Quota{Count: count, Per: per, Text: text}, nil
}
