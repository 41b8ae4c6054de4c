package e2e_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/netlab"
)

const (
	limitRate   = 1000 // packets a second
	limitBurst  = 100
	floodSize   = 5000
	modestSize  = 50
	floodTail   = 200                                  // frames behind the last reading of the clock; more than a burst
	floodMoment = limitBurst * time.Second / limitRate // in which a bucket fills

	ipLength = 46 // of udp, and of a mark without its Ethernet header
)

// flooding is one measurement: how much of a flood may have passed at least and at most. The time
// from the first to the last packet lies between the two times that are measured around it.
type flooding struct {
	source      string
	inner       time.Duration // from when the first ones had arrived to before the last ones
	outer       time.Duration // from before the first ones to when the last ones had arrived
	got         counts
	least, most uint64
}

// measureFlood sends 5,000 packets of a new source, and 50 of another one.
func measureFlood(l *lab, source string) flooding {
	l.tb.Helper()
	frame := udp(source)
	send := func(n int) {
		if err := l.sender.SendN(frame, n); err != nil {
			l.tb.Fatal(err)
		}
	}
	l.exchange()
	start := bootTime(l.tb)
	send(limitBurst) // so that the bucket is empty, and what it earns from then on is not cut
	got := l.exchange()
	first := bootTime(l.tb)
	send(floodSize - limitBurst - floodTail)
	last := bootTime(l.tb)
	send(floodTail)
	add(got, l.exchange())
	end := bootTime(l.tb)

	f := flooding{source: source, inner: time.Duration(last - first), outer: time.Duration(end - start), got: got}
	f.least = limitBurst // for sure, as a flood is longer
	if f.outer < floodMoment {
		f.least += uint64(f.inner * limitRate / time.Second) // the bucket cannot have been full again
	}
	f.most = limitBurst + uint64(f.outer*limitRate/time.Second)
	return f
}

func add(to, from counts) {
	for key, n := range from {
		to[key] = to[key].Add(n)
	}
}

// TestLimit floods some times: how many packets may pass is computed from the clock around each
// flood, as narrowly as that could be read.
func TestLimit(t *testing.T) {
	const floods = 20
	l := newLab(t)
	l.attach("--rate", "1000pps", "--burst", "100")
	var sent, arrived netlab.Count
	source := addr(flooder)
	for n := range floods {
		if n > 0 {
			source = source.Next()
		}
		f := measureFlood(l, source.String())
		passed := f.got[source]
		t.Logf("%d packets passed in %s to %s, of %d to %d", passed.Packets, f.inner, f.outer, f.least, f.most)
		if passed.Packets < f.least || passed.Packets > f.most {
			t.Errorf("%d packets passed in %s to %s, want %d to %d", passed.Packets, f.inner, f.outer, f.least, f.most)
		}
		sent.Packets += floodSize
		arrived = arrived.Add(passed)
	}
	l.wantPassed(udp(modest), modestSize, modestSize)
	sent.Packets += modestSize
	arrived = arrived.Add(netlab.Count{Packets: modestSize, Bytes: modestSize * uint64(len(udp(modest)))})
	checkStats(t, l, sent, arrived)
	checkTop(t, l, source.String())
}

// checkStats compares headgate's counters with what was sent and what arrived.
func checkStats(t *testing.T, l *lab, sent, arrived netlab.Count) {
	t.Helper()
	s := l.stats()
	marks := s.Reasons["not_ip"]
	pass := packets{arrived.Packets, arrived.Bytes - etherHeader*arrived.Packets}
	lost := sent.Packets - arrived.Packets
	drop := packets{lost, lost * ipLength}
	if got := s.Reasons["under_limit"]; got != pass.Packets {
		t.Errorf("%d under the limit, the far end counts %d", got, pass.Packets)
	}
	if got := s.Reasons["over_packet_limit"]; got != drop.Packets {
		t.Errorf("%d over the limit, the far end misses %d", got, drop.Packets)
	}
	if diff := cmp.Diff(drop, s.Drop); diff != "" {
		t.Errorf("dropped (-far end +stats):\n%s", diff)
	}
	if diff := cmp.Diff(pass, packets{s.Pass.Packets - marks, s.Pass.Bytes - marks*ipLength}); diff != "" {
		t.Errorf("passed (-far end +stats):\n%s", diff)
	}
	if diff := cmp.Diff(pass, s.Policies[0].Pass); diff != "" {
		t.Errorf("passed the policy (-far end +stats):\n%s", diff)
	}
	if diff := cmp.Diff(drop, s.Policies[0].Drop); diff != "" {
		t.Errorf("dropped by the policy (-far end +stats):\n%s", diff)
	}
}

// checkTop checks what `top --once` says of the last flood, and of the modest source.
func checkTop(t *testing.T, l *lab, source string) {
	t.Helper()
	found := map[string]topJSON{}
	for _, s := range query[[]topJSON](l, "top", "--once", "-n", "0") {
		found[s.Source] = s
	}
	if total := found[source].Pass.Packets + found[source].Drop.Packets; total != floodSize {
		t.Errorf("top has %d packets of %s, want %d", total, source, floodSize)
	}
	for _, c := range []packets{found[source].Pass, found[source].Drop} {
		if c.Bytes != c.Packets*ipLength {
			t.Errorf("top has %d bytes for %d packets of %s", c.Bytes, c.Packets, source)
		}
	}
	want := topJSON{Source: modest, Policy: "default", Pass: packets{modestSize, modestSize * ipLength}}
	if diff := cmp.Diff(want, found[modest]); diff != "" {
		t.Errorf("top (-want +got):\n%s", diff)
	}
}

// TestBandwidth fills a burst of bytes: only whole packets pass, of any size that still fits.
func TestBandwidth(t *testing.T) {
	const burst = 1000
	l := newLab(t)
	l.attach("--bandwidth", "1B/s", "--bandwidth-burst", "1000").wantNote(t, "no packet larger than that can pass")
	l.wantPassed(udp(flooder), 30, burst/ipLength)
	s := l.stats()
	fits := uint64(burst / ipLength)
	if got, want := s.Policies[0].Pass, (packets{fits, fits * ipLength}); got != want {
		t.Errorf("passed %+v, want %+v", got, want)
	}
	if got := s.Reasons["over_byte_limit"]; got != 30-fits {
		t.Errorf("%d over the byte limit, want %d", got, 30-fits)
	}
}

// TestDryRun decides and counts as always, and drops nothing.
func TestDryRun(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", never, "--burst", "5", "--dry-run")
	l.must("block", modest)
	l.wantPassed(udp(flooder), 20, 20)
	l.wantPassed(udp(modest), 10, 10)
	s := l.stats()
	if want := (packets{25, 25 * ipLength}); s.WouldDrop != want || s.Drop != (packets{}) {
		t.Errorf("would drop %+v and dropped %+v, want %+v and nothing", s.WouldDrop, s.Drop, want)
	}
	l.attach("--dry-run=false")
	l.wantPassed(udp(flooder), 20, 0)
	l.wantPassed(udp(modest), 10, 0)
}

// `unset default` lifts both dimensions of the default limit, and does nothing to what else is limited.
func TestUnsetDefault(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", "6pph", "--burst", "5", "--bandwidth", "1B/s", "--bandwidth-burst", "500")
	l.must("set", modest+"/32", "--rate", "6pph", "--burst", "3")
	l.wantPassed(udp(flooder), 20, 5)
	for range 2 {
		l.must("unset", "default")
		l.wantPassed(udp(flooder), 20, 20)
	}
	l.wantPassed(udp(modest), 20, 3)
}
