package config

import (
	"errors"
	"fmt"

	"github.com/headgate/headgate/userspace/limit/nginx"
	"github.com/headgate/headgate/userspace/rate"
)

// quota returns a rate as algorithm a takes it.
func (v value) quota(a Algorithm) Quota {
	text, ok := v.text()
	if !ok {
		return Quota{}
	}
	q, err := parseQuota(a, text)
	switch {
	case errors.Is(err, rate.ErrZero):
		v.fail("%s; use 1r/h or more", bare(err))
	case err != nil:
		v.fail("%s", bare(err))
	}
	return q
}

func parseQuota(a Algorithm, text string) (Quota, error) {
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
