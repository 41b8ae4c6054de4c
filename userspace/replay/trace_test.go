package replay

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headgate/headgate/userspace/ruleset"
)

func read(parse func(string, *Request) error, line string) (Request, error) {
	var r Request
	r.reset()
	err := parse(line, &r)
	return r, err
}

func same(a, b Request) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Request{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b http.Header) bool {
			return len(a) == len(b) && (len(a) == 0 || cmp.Equal(map[string][]string(a), map[string][]string(b)))
		}))
}

func traceLine(line string, r *Request) error { return parseTrace(line, r, names{}) }

func request(change func(*Request)) Request {
	r := Request{
		Request: ruleset.Request{Peer: netip.MustParseAddr("203.0.113.7"), Method: "GET", Path: "/", Header: http.Header{}},
		Took:    Unknown,
	}
	change(&r)
	return r
}

func TestTrace(t *testing.T) {
	const ip = `"ip":"203.0.113.7"`
	for line, want := range map[string]Request{
		`{"t_ms":0,` + ip + `}`: request(func(*Request) {}),
		`{"t_ms":0,"ip":"203.0.113.7","method":"POST","host":"h","path":"/x","query":"a=1","headers":{"appid":"1","cookie":"id=7"},"took_ms":12.5}`: request(func(r *Request) {
			r.Method, r.Host, r.Path, r.RawQuery, r.Took = "POST", "h", "/x", "a=1", 12500*time.Microsecond
			r.Header = http.Header{"Appid": {"1"}, "Cookie": {"id=7"}}
		}),
		` { "t_ms" : -1.5 , ` + ip + ` } `:                             request(func(r *Request) { r.At = -1500 * time.Microsecond }),
		`{"t_ms":1e3,` + ip + `}`:                                      request(func(r *Request) { r.At = time.Second }),
		`{"t_ms":1790000000123.4567899,` + ip + `}`:                    request(func(r *Request) { r.At = 1790000000123456789 }),
		`{"t_ms":0,"ip":"unix:"}`:                                      request(func(r *Request) { r.Peer = netip.Addr{} }),
		`{"t_ms":0,"ip":"::ffff:203.0.113.7"}`:                         request(func(r *Request) { r.Peer = netip.MustParseAddr("::ffff:203.0.113.7") }),
		`{"t_ms":0,` + ip + `,"path":"/\u00e4\"","x":[{}]}`:            request(func(r *Request) { r.Path = "/ä\"" }),
		`{"t_ms":0,` + ip + `,"x":null,"y":-1.5,"z":true,"host":null}`: request(func(*Request) {}),
		`{"t_ms":0,` + ip + `,"headers":{"x-forwarded-for":["a","b"],"y":null,"z":[]}}`: request(func(r *Request) {
			r.Header = http.Header{"X-Forwarded-For": {"a", "b"}}
		}),
		`{"t_ms":0,` + ip + `,"headers":{"Host":"h"}}`:            request(func(r *Request) { r.Host = "h" }),
		`{"t_ms":0,` + ip + `,"headers":{"host":"h"},"host":"i"}`: request(func(r *Request) { r.Host = "i" }),
		`{"t_ms":5,"t_ms":6,` + ip + `}`:                          request(func(r *Request) { r.At = 6 * time.Millisecond }),
	} {
		got, err := read(traceLine, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if diff := same(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestWrongTrace(t *testing.T) {
	for line, want := range map[string]string{
		`{`:                                  "not JSON",
		`[]`:                                 "a JSON array; write an object",
		`null`:                               "t_ms: is lacking",
		`{"ip":"203.0.113.7"}`:               "t_ms: is lacking",
		`{"t_ms":0}`:                         "ip: is lacking",
		`{"t_ms":0,"ip":""}`:                 "ip: is lacking",
		`{"t_ms":0,"ip":7}`:                  "ip: not a text",
		`{"t_ms":0,"ip":"1.2.3.4:5"}`:        `ip: "1.2.3.4:5" is not an address; write one as 203.0.113.7`,
		`{"t_ms":"0","ip":"::1"}`:            "t_ms: not a number of milliseconds",
		`{"t_ms":4611686018428,"ip":"::1"}`:  "t_ms: further away than 146 years",
		`{"t_ms":-4611686018428,"ip":"::1"}`: "t_ms: further away than 146 years",
		`{"t_ms":4611686018427.387904,"ip":"::1"}`:         "t_ms: further away than 146 years",
		`{"t_ms":-4611686018427.387904,"ip":"::1"}`:        "t_ms: further away than 146 years",
		`{"t_ms":4.611686018427387904e12,"ip":"::1"}`:      "t_ms: further away than 146 years",
		`{"t_ms":1e999,"ip":"::1"}`:                        "t_ms: further away than 146 years",
		`{"t_ms":-1e300,"ip":"::1"}`:                       "t_ms: further away",
		`{"t_ms":0,"ip":"::1","took_ms":-1}`:               "took_ms: is negative",
		`{"t_ms":0,"ip":"::1","path":1}`:                   "path: not a text",
		`{"t_ms":0,"ip":"::1","headers":[]}`:               "headers: not an object",
		`{"t_ms":0,"ip":"::1","headers":{"a":1}}`:          `headers: "a": neither a text nor a list`,
		`{"t_ms":0,"ip":"::1","headers":{"a":[null]}}`:     `headers: "a": neither a text nor a list`,
		`{"t_ms":0,"ip":"::1","headers":{"a":"","A":"1"}}`: `"A" is there twice`,
		`{"t_ms":0,"ip":"::1"} x`:                          "not JSON",
		`{"t_ms":01,"ip":"::1"}`:                           "not JSON",
	} {
		if _, err := read(traceLine, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

// Of several wrong header fields it is the same that is told each time.
func TestWrongHeadersAreToldInOrder(t *testing.T) {
	for range 20 {
		_, err := read(traceLine, `{"t_ms":0,"ip":"::1","headers":{"d":1,"c":"","b":2,"a":3}}`)
		if err == nil || !strings.Contains(err.Error(), `headers: "a":`) {
			t.Fatalf("error %v, want one about a", err)
		}
	}
}

// FuzzTrace: what scanTrace reads it reads as decodeTrace does, which is what a line means.
func FuzzTrace(f *testing.F) {
	for _, seed := range []string{
		`{"t_ms":0,"ip":"203.0.113.7","method":"GET","host":"h","path":"/x","query":"a=1","headers":{"appid":"1"},"took_ms":12.5}`,
		`{"t_ms":-0.000001,"ip":"::1","x":null,"y":-1.5,"z":true,"w":"v","headers":{}}`,
		`{"t_ms":1,"ip":"unix:","headers":{"Host":"h","a":"b"}}` + "\r\n",
		`{"t_ms":1,"ip":"unix:","took_ms":null,"method":"","x":1e5}`,
		`{"t_ms":1.,"ip":"1.2.3.4","t_ms":-01}`,
		"{\"t_ms\":1,\"ip\":\"1.2.3.4\",\"path\":\"\x80\",\"host\":\"\x7f\"}",
		`{"t_ms":1,"ip":"::\u0031","path":"\"\\\/\b\f\n\r\tä\q","headers":{"a\/":"\\"}}`,
		`{"t_ms":1,"ip":"::1","path":"\"\\\/\b\f\n\r\tä","headers":{"a\/":"\\"}}\`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		fast, slow := Request{}, Request{}
		fast.reset()
		slow.reset()
		scanned := scanTrace(line, &fast, names{})
		err := decodeTrace(line, &slow)
		if !scanned {
			return
		}
		if err != nil {
			t.Fatalf("%q: read as %+v, though %v", line, fast, err)
		}
		if diff := same(slow, fast); diff != "" {
			t.Errorf("%q (-decoded +scanned):\n%s", line, diff)
		}
	})
}

// The common line is not for the slow way.
func TestScanReadsCommonLines(t *testing.T) {
	var r Request
	r.reset()
	if !scanTrace(`{"t_ms":0.029,"ip":"::1","path":"\/ä\"","headers":{"user-agent":"\\"}}`, &r, names{}) || r.Path != `/ä"` {
		t.Errorf("not scanned, or wrongly: %+v", r)
	}
	r.reset()
	if !scanTrace(`{"t_ms":0.029,"ip":"10.0.37.32","method":"POST","host":"h","path":"/","query":"a=0","headers":{"a":"0"},"x":1}`, &r, names{}) {
		t.Error("not scanned")
	}
}

func BenchmarkTrace(b *testing.B) {
	const line = `{"t_ms":0.029,"ip":"10.0.37.32","method":"POST","host":"example.com","path":"/login","query":"a=0","headers":{"appid":"0","user-agent":"Mozilla/5.0 (X11; Linux x86_64)"}}`
	n := names{}
	for name, parse := range map[string]func(string, *Request) error{
		"scan":   func(s string, r *Request) error { return parseTrace(s, r, n) },
		"decode": decodeTrace,
	} {
		b.Run(name, func(b *testing.B) {
			var r Request
			b.ReportAllocs()
			for b.Loop() {
				r.reset()
				if err := parse(line, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
