package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/headgate/headgate/userspace/shared"
	"github.com/headgate/headgate/userspace/shared/bounds"
)

// errNonsense is an answer that the script does not give.
var errNonsense = errors.New("redis answered what the script never says")

// A reply is a 1 or 0, for whether all enforced limits allow it, the time, and a row for each key. Numbers have 8 bytes.
const (
	replyHead = 1 + 8
	replyRow  = 4 * 8
)

// read sets what a reply says, and returns whether all enforced limits that the store was asked for allow it. Whatever the
// reply is, it does no more than return an error.
func (a *ask) read(charges []shared.Charge, reply string) (allowed bool, err error) {
	if len(reply) > 0 && reply[0] == '!' {
		return false, a.unreadable(charges, reply[1:])
	}
	if len(reply) != replyHead+a.open*replyRow || reply[0] != '0' && reply[0] != '1' {
		return false, errNonsense
	}
	if a.now = number(reply[1:]); a.now >= bounds.Exact {
		return false, errNonsense
	}
	rows := reply[replyHead:]
	for i := range a.each {
		if one := &a.each[i]; !one.spent {
			if !one.read(rows[:replyRow]) {
				return false, errNonsense
			}
			rows = rows[replyRow:]
		}
	}
	return reply[0] == '1', nil
}

// read sets the state, and reports whether it is one.
func (a *asked) read(row string) bool {
	t := &a.terms
	s := state{x: number(row), y: number(row[8:]), left: number(row[16:])}
	a.more = number(row[24:])
	if max(s.x, s.y, s.left) >= bounds.Exact || a.more > a.want {
		return false
	}
	idle := s.x == 0 && s.y == 0
	switch t.kind {
	case leaky: // the y of what is kept says in what x is counted
		if s.y != t.p || s.left != 0 {
			return false
		}
		s.y = 0
	case concurrent:
		if s.y != 0 || s.left != 0 {
			return false
		}
	case window:
		if s.y != 0 || s.left == 0 || s.left > t.q {
			return false
		}
	case sliding:
		if s.left == 0 || s.left > t.q {
			return false
		}
	}
	if idle {
		s = state{}
	}
	a.state = s
	return true
}

// unreadable returns the error for the key at a place of those that the store was asked for.
func (a *ask) unreadable(charges []shared.Charge, place string) error {
	left, err := strconv.Atoi(place)
	if err != nil || left < 1 {
		return errNonsense
	}
	if a.open == 1 {
		left = 1 // each.lua counts the keys of others
	}
	for i := range a.each {
		if a.each[i].spent {
			continue
		}
		if left--; left == 0 {
			return fmt.Errorf("zone %s: redis has something else under the key's name, for a minute at most", charges[i].Zone)
		}
	}
	return errNonsense
}

func number(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:8])) }
