package limit_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

func TestLimitChargesBothPartsOrNeither(t *testing.T) {
	two := packets(t, "1pps", 2)
	big := compiled(t, rate.ParseBandwidth, "1kB/s", 3000) // 1 ms a byte
	both := limit.Limit{Packets: two, Bytes: big}
	const ms = second / 1000
	type step struct {
		length, at uint64
		want       limit.Refusal
		then       limit.Bucket
	}
	// Both costs are exact at shift 0, where a tick is 1 ns.
	bucket := func(packetDebt, byteDebt uint64) limit.Bucket {
		return limit.Bucket{Packets: limit.State{TAT: start + packetDebt}, Bytes: limit.State{TAT: start + byteDebt}}
	}
	tests := []struct {
		name  string
		l     limit.Limit
		steps []step
	}{
		{"bytes refuse, packets stay", both, []step{
			{2000, start, limit.None, bucket(second, 2000*ms)},
			{1001, start, limit.OverBytes, bucket(second, 2000*ms)},
			{1000, start, limit.None, bucket(2*second, 3000*ms)},
		}},
		{"packets refuse, bytes stay", both, []step{
			{100, start, limit.None, bucket(second, 100*ms)},
			{100, start, limit.None, bucket(2*second, 200*ms)},
			{100, start, limit.OverPackets, bucket(2*second, 200*ms)},
		}},
		{"both refuse, packets named", both, []step{
			{1500, start, limit.None, bucket(second, 1500*ms)},
			{1500, start, limit.None, bucket(2*second, 3000*ms)},
			{1500, start, limit.OverPackets, bucket(2*second, 3000*ms)},
			{1500, start + second, limit.OverBytes, bucket(2*second, 3000*ms)},
		}},
		{"only packets", limit.Limit{Packets: two}, []step{
			{1 << 24, start, limit.None, bucket(second, 0)},
			{1 << 24, start, limit.None, bucket(2*second, 0)},
			{1, start, limit.OverPackets, bucket(2*second, 0)},
		}},
		{"only bytes", limit.Limit{Bytes: big}, []step{
			{3001, start, limit.OverBytes, bucket(0, 0)},
			{3000, start, limit.None, bucket(0, 3000*ms)},
			{1, start, limit.OverBytes, bucket(0, 3000*ms)},
		}},
		{"no limit", limit.Limit{}, []step{{1 << 24, start, limit.None, bucket(0, 0)}}},
		{"nothing in it", both, []step{
			{0, start, limit.None, bucket(second, 0)},
		}},
	}
	for _, tt := range tests {
		b := tt.l.Fresh(start)
		for i, st := range tt.steps {
			before := b
			if got := tt.l.Fits(b, st.length, st.at); got != st.want || b != before {
				t.Errorf("%s, step %d: Fits = %v, want %v", tt.name, i, got, st.want)
			}
			if got := tt.l.Take(&b, st.length, st.at); got != st.want || b != st.then {
				t.Errorf("%s, step %d: Take = %v, %+v; want %v, %+v", tt.name, i, got, b, st.want, st.then)
			}
		}
	}
}

// Bytes stay as they are here, and are cut to their burst all the same.
func TestLimitAdoptsBothParts(t *testing.T) {
	was := limit.Limit{Packets: limit.Params{Cost: 1, Burst: 100}, Bytes: limit.Params{Cost: 4, Burst: 800, Shift: 2}}
	now := was
	now.Packets = limit.Params{Cost: 2, Burst: 60, Shift: 1}
	b := limit.Bucket{Packets: limit.State{TAT: 1000 + 90}, Bytes: limit.State{TAT: 1000<<2 + 900}}
	want := limit.Bucket{Packets: limit.State{TAT: 1000<<1 + 60}, Bytes: limit.State{TAT: 1000<<2 + 800}}
	if now.Adopt(&b, was, 1000); b != want {
		t.Errorf("Adopt gives %+v, want %+v", b, want)
	}
}

// Even what Convert would change, so that nothing is lost where nothing changed.
func TestSameLimitAdoptsNothing(t *testing.T) {
	same := limit.Limit{Packets: limit.Params{Cost: 1, Burst: 100}}
	before := limit.Bucket{Packets: limit.State{TAT: 5000}, Bytes: limit.State{TAT: 7}}
	b := before
	if same.Adopt(&b, same, 1000); b != before {
		t.Errorf("%+v becomes %+v", before, b)
	}
}

// A source that spent its old, larger burst gets one packet again as soon as
// the new limit has earned it.
func TestLoweredLimitDoesNotHoldOldDebt(t *testing.T) {
	generous := limit.Limit{Packets: packets(t, "10pps", 1000)}
	strict := limit.Limit{Packets: packets(t, "10pps", 2)}
	b := generous.Fresh(start)
	if got := admit(generous.Packets, &b.Packets, 1001, start); got != 1000 {
		t.Fatalf("%d passed of the old burst, want 1000", got)
	}
	strict.Adopt(&b, generous, start)
	if got := admit(strict.Packets, &b.Packets, 5, start); got != 0 {
		t.Errorf("%d passed at the change, want 0", got)
	}
	if got := admit(strict.Packets, &b.Packets, 5, start+second/10); got != 1 {
		t.Errorf("%d passed 100 ms after the change, want 1", got)
	}
}

func TestNamesAndZeros(t *testing.T) {
	for r, want := range map[limit.Refusal]string{limit.None: "none", limit.OverPackets: "over-packets", limit.OverBytes: "over-bytes", 7: "refusal 7"} {
		if r.String() != want {
			t.Errorf("refusal %d prints %q, want %q", uint8(r), r, want)
		}
	}
	p := limit.Params{Cost: 1}
	tests := []struct {
		l    limit.Limit
		want bool
	}{
		{limit.Limit{}, true}, {limit.Limit{Packets: p}, false}, {limit.Limit{Bytes: p}, false},
	}
	for _, tt := range tests {
		if tt.l.IsZero() != tt.want {
			t.Errorf("%+v: IsZero = %v, want %v", tt.l, !tt.want, tt.want)
		}
	}
}
