package fleet

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

// FuzzReply shows that nothing that Redis may answer makes a member panic, or believe a rule that it could not have made.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		"", "x", "5:hello", "13:17000000000001:e1:1", "13:17000000000001:e1:11:01:114:p 192.0.2.1/3249:r 1 0 {\"v\":1,\"action\":\"block\",\"by\":\"a\"}",
		"99999999999999999999:x", "-1:", "2:", "1:a1:b1:c", "0:0:0:",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		h, says, err := readReply(reply)
		if err != nil {
			return
		}
		if h.epoch == "" || h.at < 0 {
			t.Errorf("head %+v", h)
		}
		c := &clock{}
		c.learn(h.at, time.Now(), time.Now())
		if p, err := readPublished(says, 3); err == nil && (p.fit > 3 || p.written() > 3) {
			t.Errorf("%+v", p)
		}
		m := New(usual("a"))
		if _, all, err := m.readMembers(says); err == nil {
			for _, one := range all {
				one.export(h, time.Now())
			}
		}
		a := &m.follower
		for changes := says; len(changes) >= 3; changes = changes[3:] {
			if err := a.take(&pass{seen: map[slot]int64{}}, changes[0], changes[1], changes[2]); err != nil && !errors.Is(err, errNonsense) {
				t.Error(err)
			}
		}
	})
}

// FuzzRecord shows that a record that is read is one that could have been written.
func FuzzRecord(f *testing.F) {
	f.Add("p 192.0.2.1/32", `r 1700000000000 0 {"v":1,"action":"block","by":"a","reason":"x"}`)
	f.Add("h 2001:db8::/64", `t 1700000000000 1700000000001 {"v":1,"by":"a"}`)
	f.Add("h 2001:db8::/64", `r 1 2 {"v":1,"action":"limit","rate":"10kpps","burst":5,"bandwidth":"1MB/s","bandwidth_burst":9000,"by":"a"}`)
	f.Add("p ::ffff:1.2.3.4/120", `r 1 2 {"v":1,"action":"block","by":"a"} {}`)
	f.Fuzz(func(t *testing.T, slotText, text string) {
		r, err := readRecord(slotText, text, func(int64) time.Time { return time.Now().Add(time.Hour) })
		if err != nil {
			return
		}
		if r.String() != slotText || canonical(r.prefix) != r.prefix || tooWide(r.prefix) != nil || len(r.rule.Reason) > mostReason {
			t.Fatalf("slot %q", slotText)
		}
		if r.gone {
			return
		}
		rule, err := check(r.rule, r.rule.By)
		if err != nil || rule != r.rule {
			t.Fatalf("%+v: %v", r.rule, err)
		}
		again, err := readBody(bodyOf(r.rule), false)
		again.Prefix, again.Person = r.rule.Prefix, r.rule.Person
		if err != nil || again != r.rule {
			t.Fatalf("%+v: again %+v, %v", r.rule, again, err)
		}
	})
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1/24": "192.0.2.0/24", "::ffff:192.0.2.1/120": "192.0.2.0/24", "2001:db8::1/64": "2001:db8::/64",
		"::ffff:192.0.2.1/128": "192.0.2.1/32",
	} {
		if got := canonical(netip.MustParsePrefix(text)); got.String() != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := canonical(netip.Prefix{}); got.IsValid() {
		t.Errorf("%v", got)
	}
}
