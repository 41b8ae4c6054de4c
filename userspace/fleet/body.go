package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// format is of bodies. Members do not follow rules of another.
const format = 1

// mostReason and mostBody bound, in bytes, what a member may make others remember.
const mostReason, mostBody = 256, 2048

// body is a rule as JSON, without what the slot and the scripts know.
type body struct {
	Format         int    `json:"v"`
	Action         string `json:"action,omitempty"` // none of what was taken back
	Rate           string `json:"rate,omitempty"`
	Burst          uint64 `json:"burst,omitempty"`
	Bandwidth      string `json:"bandwidth,omitempty"`
	BandwidthBurst uint64 `json:"bandwidth_burst,omitempty"`
	By             string `json:"by"`
	Reason         string `json:"reason,omitempty"`
}

// bodyOf returns the body of a rule.
func bodyOf(r Rule) string {
	b := body{Format: format, Action: string(r.Action), By: r.By, Reason: cut(r.Reason)}
	if !r.Limit.Rate.IsZero() {
		b.Rate, b.Burst = r.Limit.Rate.String(), r.Limit.Burst
	}
	if !r.Limit.Bandwidth.IsZero() {
		b.Bandwidth, b.BandwidthBurst = r.Limit.Bandwidth.String(), r.Limit.BandwidthBurst
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	return string(text)
}

// cut returns the beginning of a text, in whole characters.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "?")
	for len(s) > mostReason {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// readBody reads what bodyOf wrote, of a rule or of one taken back.
func readBody(text string, gone bool) (Rule, error) {
	if len(text) > mostBody {
		return Rule{}, fmt.Errorf("%d bytes are too many", len(text))
	}
	var b body
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return Rule{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Rule{}, errors.New("something follows the rule")
	}
	if b.Format != format {
		return Rule{}, fmt.Errorf("format %d: this version of headgate reads format %d", b.Format, format)
	}
	r := Rule{Action: config.Action(b.Action), By: b.By, Reason: cut(b.Reason)}
	if gone {
		return r, nil
	}
	var err error
	if r.Limit, err = b.limit(); err != nil {
		return Rule{}, err
	}
	return r, checkAction(r)
}

func (b body) limit() (l config.KernelLimit, err error) {
	if b.Rate != "" {
		if l.Rate, err = rate.ParsePackets(b.Rate); err != nil {
			return l, err
		}
		l.Burst = b.Burst
	}
	if b.Bandwidth != "" {
		if l.Bandwidth, err = rate.ParseBandwidth(b.Bandwidth); err != nil {
			return l, err
		}
		l.BandwidthBurst = b.BandwidthBurst
	}
	return l, nil
}

// checkAction returns what is wrong with what a rule does. One that a kernel cannot have must not get into the set.
func checkAction(r Rule) error {
	switch r.Action {
	case config.Allow, config.Block:
		if !r.Limit.IsZero() {
			return fmt.Errorf("a rule that is to %s has a limit", r.Action)
		}
		return nil
	case config.Limit:
	default:
		return fmt.Errorf("%.20q is no action; use allow, block or limit", r.Action)
	}
	if r.Limit.IsZero() {
		return errors.New("a rule that is to limit has no limit")
	}
	for _, q := range []struct {
		rate  rate.Rate
		burst uint64
	}{{r.Limit.Rate, r.Limit.Burst}, {r.Limit.Bandwidth, r.Limit.BandwidthBurst}} {
		if q.rate.IsZero() {
			continue
		}
		if _, err := limit.Compile(q.rate, q.burst); err != nil {
			return err
		}
	}
	return nil
}
