package replay

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func logLine(line string, r *Request) error { return new(logParser).parse(line, r) }

func logged(change func(*Request)) Request {
	return request(func(r *Request) {
		r.At = time.Duration(time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC).UnixNano())
		change(r)
	})
}

func TestLog(t *testing.T) {
	const head, tail = `203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "`, `" 200 12 "-" "-"`
	for line, want := range map[string]Request{
		head + `GET /x?a=1 HTTP/1.1" 200 12 "ref" "ua"`: logged(func(r *Request) {
			r.Path, r.RawQuery, r.Header = "/x", "a=1", http.Header{"Referer": {"ref"}, "User-Agent": {"ua"}}
		}),
		head + `GET / HTTP/1.1" 200 12`: logged(func(*Request) {}), // common
		head + `GET / HTTP/1.1" - -`:    logged(func(*Request) {}),
		head + `GET /` + tail:           logged(func(*Request) {}), // HTTP/0.9
		head + `GET / HTTP/1.1" 200 12 "-" "-" "198.51.100.1, 10.0.0.1" 0.003`: logged(func(r *Request) {
			r.Header = http.Header{"X-Forwarded-For": {"198.51.100.1, 10.0.0.1"}} // nginx's main
		}),
		`example.com:443 ` + head + `GET / HTTP/1.1` + tail: logged(func(r *Request) { r.Host = "example.com:443" }),
		`2001:db8::1 - j [ 2 [29/Nov/2026:14:30:00 +0230] "GET / HTTP/2.0` + tail: logged(func(r *Request) {
			r.Peer = netip.MustParseAddr("2001:db8::1")
		}),
		`198.51.100.66 ` + head + `GET / HTTP/1.1` + tail: logged(func(r *Request) { r.Host = "198.51.100.66" }), // $host $remote_addr
		`203.0.113.7 - x [28/Nov/2026:12:00:00 +0000]  [27/Nov/2026:12:00:00 +0000] [29/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1` + tail: logged(func(*Request) {}),
		`unix: - - [29/Nov/2026:07:00:00 -0500] "GET / HTTP/1.0` + tail:                                                                  logged(func(r *Request) { r.Peer = netip.Addr{} }),
		head + `GET /%6cogin%20x?a=%20 HTTP/1.1` + tail:                                                                                  logged(func(r *Request) { r.Path, r.RawQuery = "/login x", "a=%20" }),
		head + `GET http://h:8/p?q HTTP/1.1` + tail:                                                                                      logged(func(r *Request) { r.Host, r.Path, r.RawQuery = "h:8", "/p", "q" }),
		head + `GET http://h?q HTTP/1.1` + tail:                                                                                          logged(func(r *Request) { r.Host, r.Path, r.RawQuery = "h", "", "q" }),
		head + `OPTIONS * HTTP/1.1` + tail:                                                                                               logged(func(r *Request) { r.Method, r.Path = "OPTIONS", "*" }),
		head + `CONNECT h:443 HTTP/1.1` + tail:                                                                                           logged(func(r *Request) { r.Method, r.Host, r.Path = "CONNECT", "h:443", "" }),
		head + `GET /\x22\\\"\xc3\xa4\q HTTP/1.1" 200 12 "-" "\x09\t\n"`: logged(func(r *Request) {
			r.Path, r.Header = "/\"\\\"ä\\q", http.Header{"User-Agent": {"\t\t\n"}}
		}),
	} {
		got, err := read(logLine, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if diff := same(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// What was no request, or one that no server passes on, is not an error of the log.
func TestLogOfNoRequest(t *testing.T) {
	for _, request := range []string{
		``, `-`, `GET`, ` / HTTP/1.1`, `\x16\x03\x01\x02`, `GET x HTTP/1.1`, `GET / a b`, `GET /\x01 HTTP/1.1`, `GET /%zz HTTP/1.1`,
		`G@T / HTTP/1.1`, `GET  HTTP/1.1`,
	} {
		_, err := read(logLine, `203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "`+request+`" 400 0 "-" "-"`)
		if !errors.Is(err, errNoRequest) {
			t.Errorf("%s: %v, want that it is no request", request, err)
		}
	}
}

func TestWrongLog(t *testing.T) {
	const head = `203.0.113.7 - - [29/Nov/2026:12:00:00 +0000]`
	for line, want := range map[string]string{
		`x`: `"x" is not an address, and neither is what follows it`,
		`client.example.com - - [29/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1`: "with addresses rather than names",
		`203.0.113.7 - - "GET / HTTP/1.1" 200 12`:                                    "no time in brackets",
		`203.0.113.7 - - [31/Feb/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12`:       "no time in brackets",
		`203.0.113.7 - - [29/Nov/2026:12:00:00 +0000`:                                "no time in brackets",
		`203.0.113.7 - - [29/Nov/9999:12:00:00 +0000] "GET / HTTP/1.1" 200 12`:       "no time in brackets",
		head:                                "no \"request\" in quotes",
		head + ` "GET / HTTP/1.1`:           "no \"request\" in quotes",
		head + ` "GET / HTTP/1.1\"`:         "no \"request\" in quotes",
		head + ` "GET / HTTP/1.1" OK 12`:    `no status behind the request, but "OK"`,
		head + ` "GET / HTTP/1.1" 200`:      `no size of the answer behind the request, but ""`,
		head + ` "GET / HTTP/1.1" 200 "ua"`: `no size of the answer behind the request, but "\"ua\""`,
	} {
		if _, err := read(logLine, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

// FuzzLog: no line makes the parser panic, what it remembers of lines before makes no difference, and what it
// reads is in range.
func FuzzLog(f *testing.F) {
	f.Add(`203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "GET /x?a=1 HTTP/1.1" 200 12 "ref" "ua"`)
	f.Add(`h:1 ::1 - [ [29/Nov/2026:12:00:00 -0930] "GET http://h/\x22%41 HTTP/1.1" - - "\"" "\xc3" "1.2.3.4"`)
	f.Add(`203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "\" 400 0`)
	f.Fuzz(func(t *testing.T, line string) {
		first, err := read(logLine, line)
		if err == nil && (first.Method == "" || first.At > latest || first.At < -latest || first.Took != Unknown) {
			t.Errorf("%q: %+v", line, first)
		}
		p := new(logParser)
		for range 2 {
			again, errAgain := read(p.parse, line)
			if (err == nil) != (errAgain == nil) || err == nil && same(first, again) != "" {
				t.Errorf("%q: %+v, %v; again: %+v, %v", line, first, err, again, errAgain)
			}
		}
	})
}

func BenchmarkLog(b *testing.B) {
	const line = `10.0.37.32 - - [21/Sep/2026:14:13:20 +0000] "POST /login?a=0 HTTP/1.1" 200 1234 "https://example.com/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"`
	var r Request
	p := new(logParser)
	b.ReportAllocs()
	for b.Loop() {
		r.reset()
		if err := p.parse(line, &r); err != nil {
			b.Fatal(err)
		}
	}
}
