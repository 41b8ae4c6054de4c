package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
)

// packets are counted for the attacker.
type packets struct {
	dropped int // by headgate in the kernel
	lost    int // on the wire: the queue of the interface was full
	beside  int // that his kernel has sent beside what he asked for: RSTs and retransmissions
}

func (p packets) minus(q packets) packets {
	return packets{p.dropped - q.dropped, p.lost - q.lost, p.beside - q.beside}
}

// onTheWay is how long a packet may be on its way, in a thread that has to wait for its CPU.
const onTheWay = 5 * time.Millisecond

// packets returns what was counted so far, at a moment when none is on its way.
func (f *front) packets() (p packets, err error) {
	err = await(f.ctx, "the attacker is silent", func() (bool, error) {
		before, err := f.sent()
		if err != nil {
			return false, err
		}
		time.Sleep(onTheWay)
		dropped := 0
		if f.agent != nil {
			if dropped, err = f.agent.sample(f.ctx, metricPackets, labelDrop); err != nil {
				return false, err
			}
		}
		p, err = f.sent()
		silent := p == before
		p.dropped = dropped
		return silent, err
	})
	return p, err
}

// sent returns what is counted at the attacker's.
func (f *front) sent() (p packets, err error) {
	err = f.attacker.Do(func() error {
		link, err := netlink.LinkByName(f.attack.Near.Name)
		if err != nil {
			return err
		}
		p.lost = int(link.Attrs().Statistics.TxDropped)
		p.beside, err = readBeside()
		return err
	})
	return p, err
}

// readBeside returns how many RSTs TCP has sent in the namespace of the thread, and how many segments again.
func readBeside() (n int, err error) {
	text, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, err
	}
	var tcp [][]string // names and values
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "Tcp:") {
			tcp = append(tcp, strings.Fields(line))
		}
	}
	if len(tcp) != 2 || len(tcp[0]) != len(tcp[1]) {
		return 0, errors.New("/proc/net/snmp: no counters of TCP")
	}
	for i, name := range tcp[0] {
		if name != "OutRsts" && name != "RetransSegs" {
			continue
		}
		value, err := strconv.Atoi(tcp[1][i])
		if err != nil {
			return 0, fmt.Errorf("/proc/net/snmp: %s: %w", name, err)
		}
		n += value
	}
	return n, nil
}

// checkFlood returns an error if the attacker did not see what he should in a flood that is the first of a front.
func (f *front) checkFlood(fl Flooded) error {
	f.seen.add(&fl)
	const burst = 21
	switch {
	case fl.Passed+fl.Unanswered < burst:
		return fmt.Errorf("only %d requests of the attacker passed, want at least the burst of %d", fl.Passed, burst)
	case f.nginx == nil && fl.Marked != fl.Refused:
		return fmt.Errorf("of %d refusals only %d told the limit", fl.Refused, fl.Marked)
	case f.handsDown && fl.Opened > 0:
		return fmt.Errorf("the attacker opened %d connections after he was handed down", fl.Opened)
	case f.handsDown && fl.Knocks+fl.Unanswered == 0:
		return fmt.Errorf("the attacker was not handed down: %d requests were refused", fl.Refused)
	case !f.handsDown && fl.Knocks > fl.attempts()/100: // a few are a machine that has other things to do
		return fmt.Errorf("the attacker lost his connections, and tried %d times to open one", fl.Knocks)
	}
	return f.checkRefusals()
}

// checkRefusals returns an error if the servers have not refused what the attacker saw, in all floods so far.
func (f *front) checkRefusals() error {
	var counted int
	var err error
	switch {
	case f.nginx == nil:
		counted, err = f.agent.sample(f.ctx, metricRules, labelRefused)
	case f.logs:
		counted, err = loggedRefusals(f.dir)
	default:
		return nil // nobody has counted
	}
	if err != nil {
		return err
	}
	// What was refused on a connection that he gave up, he has not seen.
	if counted < f.seen.Refused || counted > f.seen.Refused+f.seen.Unanswered {
		return fmt.Errorf("the servers refused %d requests, the attacker saw %d refused and %d not answered",
			counted, f.seen.Refused, f.seen.Unanswered)
	}
	return nil
}

// checkAlone returns an error if the servers did not count what the attacker did in a further flood, meanwhile.
func (f *front) checkAlone(fl Flooded, meanwhile packets) error {
	if f.handsDown {
		return checkDropped(fl, meanwhile)
	}
	f.seen.add(&fl)
	return f.checkRefusals()
}

// checkDropped returns an error if not all that the attacker did was dropped.
func checkDropped(fl Flooded, meanwhile packets) error {
	if fl.Knocks != fl.attempts() || fl.Opened > 0 || meanwhile.dropped+meanwhile.lost != fl.Knocks+meanwhile.beside {
		return fmt.Errorf("of %d attempts %d were SYNs and %d opened a connection; with %d packets beside, the kernel dropped %d, and %d were lost before",
			fl.attempts(), fl.Knocks, fl.Opened, meanwhile.beside, meanwhile.dropped, meanwhile.lost)
	}
	return nil
}
