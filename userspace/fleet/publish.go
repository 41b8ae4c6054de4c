package fleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The modes of publish.lua.
const (
	modeSet   = "set"   // all or none
	modeShare = "share" // as many as may be
	modeAgain = "again" // what was lost
	modeUnset = "unset"
)

// change is a record that is to be published.
type change struct {
	slot
	gone bool
	// at is when it was said, of modeAgain; else what is known of the slot.
	at   int64
	end  time.Time // zero for none
	none bool      // nothing is known that could end
	body string
}

// left returns how long it holds from now on, as publish.lua wants it; 0 for a rule that has ended already.
func (c change) left(now time.Time) (text string, ended bool) {
	switch {
	case c.none:
		return "-1", false
	case c.end.IsZero():
		return "0", false
	}
	left := c.end.Sub(now).Milliseconds()
	return strconv.FormatInt(max(left, 1), 10), left <= 0
}

// published is what became of changes.
type published struct {
	letters string // of each what publish.lua says
	fit     int
	wait    time.Duration // until all fit; negative for never
}

func (p published) count(letter string) int { return strings.Count(p.letters, letter) }
func (p published) written() int            { return p.count("w") }

// publish runs publish.lua. No two of the changes may be of one slot. If it fails they may have been published.
func (f *Fleet) publish(ctx context.Context, mode string, changes []change) (published, error) {
	args := []string{mode, f.keys.channel, strconv.Itoa(f.o.Config.MaxPublished), strconv.Itoa(f.o.Config.MaxRules)}
	now := time.Now()
	for _, c := range changes {
		kind := "r"
		if c.gone {
			kind = "t"
		}
		left, _ := c.left(now)
		args = append(args, c.String(), kind, strconv.FormatInt(c.at, 10), left, c.class(), c.body)
	}
	_, says, err := f.run(ctx, f.scripts.publish, f.keys.with(f.keys.quota), args...)
	if err != nil {
		return published{}, err
	}
	return readPublished(says, len(changes))
}

// readPublished reads what publish.lua says of so many changes.
func readPublished(says []string, changes int) (p published, err error) {
	if len(says) != 3 || len(says[0]) != changes || strings.Trim(says[0], "w-qf") != "" {
		return p, fmt.Errorf("%w: of %d changes", errNonsense, changes)
	}
	p.letters = says[0]
	fit, err := number(says[1])
	if err != nil {
		return p, err
	}
	p.fit = int(min(fit, int64(changes)))
	if says[2] == "-1" {
		p.wait = -1
		return p, nil
	}
	wait, err := number(says[2])
	p.wait = ms(wait)
	return p, err
}
