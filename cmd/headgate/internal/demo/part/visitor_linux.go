package part

import "time"

// visitEvery is how often a visitor comes: 50 times a second.
const visitEvery = 20 * time.Millisecond

// visitor sends a modest number of requests, each on a connection of its own.
type visitor struct {
	script Script
	next   int64 // when the next request is due, in ns of the boot clock
}

func (v *visitor) act() (seen Seen, err error) {
	time.Sleep(time.Duration(v.next - bootTime()))
	seen.Start = bootTime()
	v.next = seen.Start + visitEvery.Nanoseconds() // after a stall it does not catch up
	c, err := dial(v.script)
	if err != nil {
		return seen, err
	}
	defer c.Close()
	if err := c.ask(); err != nil {
		return seen, err
	}
	if err := c.answer(&seen); err != nil {
		return seen, err
	}
	seen.End = bootTime()
	seen.Took = seen.End - seen.Start
	return seen, nil
}

func (v *visitor) rest() {}
