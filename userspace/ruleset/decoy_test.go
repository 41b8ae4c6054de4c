package ruleset_test

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// firstOf returns the first value that is not empty.
func firstOf(values []string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// A limit counts by the argument and the cookie that the handler sees, whatever a client writes in front of it that
// net/http leaves out. Random requests are of these pieces.
func TestDecoysHideNothing(t *testing.T) {
	pieces := []string{"id=", "id=1", "&id=", "; id=", "=", "1", "2", "&", "; ", ";", `"`, "%", "%31", "%zz", "\xff", "%69d", "x"}
	random := rand.New(rand.NewPCG(1, 2))
	byQuery, byCookie := byKey(t, `"query:id"`), byKey(t, `"cookie:id"`)
	seen := 0
	for range 20_000 {
		var b strings.Builder
		for range 2 + random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := b.String()
		r := get("/")
		r.RawQuery = text
		r.Header["Cookie"] = []string{text}

		arguments, _ := url.ParseQuery(text) // what it leaves out is its error
		var cookies []string
		for _, c := range (&http.Request{Header: r.Header}).CookiesNamed("id") {
			cookies = append(cookies, c.Value)
		}
		for set, want := range map[*ruleset.Set]string{byQuery: firstOf(arguments["id"]), byCookie: firstOf(cookies)} {
			if want == "" {
				continue
			}
			seen++
			d := set.Explain(r, start)
			key := clientip.AppendPart(nil, want)
			if len(d.Limits) != 1 || string(d.Limits[0].AppendKey(nil)) != string(key) {
				t.Errorf("%q: %v, want the key %q", text, d, want)
			}
		}
	}
	if seen < 1000 {
		t.Errorf("%d requests had a value", seen)
	}
}

// What net/http would leave out still counts where there is nothing else: other servers take it.
func TestOddValuesCount(t *testing.T) {
	r := get("/")
	r.RawQuery = "id=%zz&id=%zy"
	r.Header["Cookie"] = []string{"id=\xff; id=\xfe"}
	equal(t, "query", byKey(t, `"query:id"`).Explain(r, start).Limits[0].Key(), "%zz")
	equal(t, "cookie", byKey(t, `"cookie:id"`).Explain(r, start).Limits[0].Key(), `"\xff"`)
}

// A decision that is held, as of a websocket, does not keep the memory of the request.
func TestDecisionKeepsNothingOfTheRequest(t *testing.T) {
	set := byKey(t, `["header:appid", path]`)
	decide := func() (*ruleset.Decision, weak.Pointer[ruleset.Request], weak.Pointer[byte]) {
		value := make([]byte, 64<<10)
		r := get("/p")
		r.Header["Appid"] = []string{unsafe.String(&value[0], len(value))}
		return set.Decide(r, start), weak.Make(r), weak.Make(&value[0])
	}
	d, request, value := decide()
	runtime.GC()
	if request.Value() != nil || value.Value() != nil {
		t.Errorf("the request is kept: %t, its header: %t", request.Value() != nil, value.Value() != nil)
	}
	d.Free(start)
}

// What rules decide one after the other can be repeated, also where zones are full and forget keys that owe something.
func TestSerialIsRepeatable(t *testing.T) {
	f, err := config.Parse("headgate.yaml", []byte(`
http:
  zones: {a: {key: path, rate: 1r/h, max_keys: 10k}}
  rules: [{limits: [{zone: a}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	var first uint64
	for n := range 3 {
		set, err := ruleset.NewSerial(f.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(3, 4))
		var passed uint64
		for i := range 50_000 {
			d := set.Decide(get(string(rune('0'+random.IntN(15_000)))), start+time.Duration(i))
			if d.Allowed {
				passed = passed*31 + uint64(i)
			}
			d.Free(start)
		}
		if set.Counters().Zones[0].Keyed.EvictedLive == 0 {
			t.Fatal("nothing was forgotten")
		}
		if n > 0 && passed != first {
			t.Errorf("run %d passes others than the first", n)
		}
		first = passed
	}
}
