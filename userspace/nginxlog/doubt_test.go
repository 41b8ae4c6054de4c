package nginxlog

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// victim is whom clients try to have blocked.
const victim = "9.9.9.9"

// forgery is a line that a client would like to stand in the log.
const forgery = "\n2026/11/30 03:04:05 [error] 1#1: *1 limiting requests, excess: 1.000 by zone \"perip\", client: " + victim + ", server: x"

// cut returns a record as nginx writes it: no longer than most.
func cut(record string, most int) string { return record[:min(len(record), most-1)] + "\n" }

// refused returns the record of a refusal of client.
func refused(client, target string, most int) string {
	return cut(fmt.Sprintf(begin+`limiting requests, excess: 1.000 by zone "perip", client: %s, server: x, request: "GET %s HTTP/1.1", host: "x"`, client, target), most)
}

// absent returns the record of a file that is not there. target is decoded, as nginx does.
func absent(target string, most int) string {
	path, err := url.PathUnescape(target)
	if err != nil {
		path = target
	}
	return cut(fmt.Sprintf(begin+`open() "/srv/www%s" failed (2: No such file or directory), client: 192.0.2.9, server: x, request: "GET %s HTTP/1.1", host: "x"`, path, target), most)
}

// stderr returns the record of what an application wrote.
func stderr(text string, most int) string {
	return cut(fmt.Sprintf(begin+`FastCGI sent in stderr: "%s" while reading response header from upstream, client: 192.0.2.9, server: x, request: "GET / HTTP/1.1", host: "x"`, text), most)
}

// believed returns the clients of all refusals that are believed in a log, read to its end.
func believed(log string) (clients []string, doubtful int) {
	d := doubt{
		found:    func(r record) { clients = append(clients, r.client.String()) },
		doubtful: func() { doubtful++ },
	}
	at := int64(0)
	for line := range strings.Lines(log) {
		d.add([]byte(strings.TrimSuffix(line, "\n")), at, at+int64(len(line)))
		at += int64(len(line))
	}
	d.quiet()
	return clients, doubtful
}

func TestForgedLines(t *testing.T) {
	const escaped = "%0a2026/11/30%2003:04:05%20[error]%201%231:%20*1%20limiting%20requests,%20excess:%201.000%20by%20zone%20%22perip%22,%20client:%209.9.9.9,%20server:%20x"
	good := refused("192.0.2.1", "/", longestHere)
	many := strings.Repeat
	tests := map[string]struct {
		log      string
		want     int // believed
		doubtful int
	}{
		"alone":                     {many(good, 100), 100, 0},
		"ordinary 404s between":     {many(good+absent("/favicon.ico", longestHere), 100), 100, 0},
		"forged":                    {absent("/x"+escaped+"%0a", longestHere), 0, 1},
		"forged, with the tail":     {absent("/x"+escaped, longestHere), 0, 1},
		"forged, cut off":           {absent("/"+strings.Repeat("a", 900)+escaped+strings.Repeat("b", 800), longestHere), 0, 1},
		"forged, cut off, 4096":     {absent("/"+strings.Repeat("a", 1900)+escaped+strings.Repeat("b", 1900), longest), 0, 1},
		"forged, twice":             {absent("/x"+escaped+escaped+escaped, longestHere), 0, 3},
		"by an application":         {stderr(forgery+"\n", longestHere), 0, 1},
		"by a refused request":      {refused("192.0.2.1", "/?%0a", longestHere), 1, 0},
		"far behind an application": {stderr("x", longestHere) + many(good, 100), 100 - (longest-len(stderr("x", longestHere))+len(good)-1)/len(good), (longest - len(stderr("x", longestHere)) + len(good) - 1) / len(good)},
		"good before forged":        {many(good, 3) + absent("/x"+escaped+"%0a", longestHere), 3, 1},
		"a full record of its own":  {absent("/a", longestHere) + refused("192.0.2.1", "/"+strings.Repeat("a", 3000), longestHere), 1, 0},
		"nested":                    {cut(begin+`limiting requests, excess: 1.000 by zone "perip", client: 192.0.2.1, server: x, request: "GET /`+escaped+` HTTP/1.1", subrequest: "/auth`+forgery+`", host: "x"`, longestHere), 1, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, doubtful := believed(test.log)
			if len(got) != test.want || doubtful != test.doubtful {
				t.Errorf("%d believed, %d doubtful; want %d, %d", len(got), doubtful, test.want, test.doubtful)
			}
			if slices.Contains(got, victim) {
				t.Error("the victim is")
			}
		})
	}
}

// Whatever clients ask for, and in whichever order, nobody is blamed whom nginx has not refused.
func TestNobodyForges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{longestHere, longest}).Draw(t, "most")
		piece := rapid.OneOf(
			rapid.Just(strings.ReplaceAll(url.PathEscape(forgery), "%2F", "/")),
			rapid.Just(strings.ReplaceAll(url.PathEscape(forgery+", request: \"GET / HTTP/1.1\", host: \"x\"\n"), "%2F", "/")),
			rapid.Just(strings.ToLower(url.PathEscape("\n"+begin+"open() \"/x"))),
			rapid.Just(url.PathEscape("\n"+begin+"x")),
			rapid.Custom(func(t *rapid.T) string { return strings.Repeat("a", rapid.IntRange(0, 4200).Draw(t, "fill")) }),
			rapid.Just("%0a"), rapid.Just("%22"), rapid.Just("x"),
		)
		target := rapid.Custom(func(t *rapid.T) string { return "/" + strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "target"), "") })
		var log strings.Builder
		innocent := 0
		for range rapid.IntRange(1, 12).Draw(t, "records") {
			switch rapid.IntRange(0, 2).Draw(t, "record") {
			case 0:
				log.WriteString(refused("192.0.2.1", target.Draw(t, "target"), most))
				innocent++
			case 1:
				log.WriteString(absent(target.Draw(t, "target"), most))
			default:
				text, _ := url.PathUnescape(target.Draw(t, "text"))
				log.WriteString(stderr(text, most))
			}
		}
		got, _ := believed(log.String())
		if slices.Contains(got, victim) || len(got) > innocent {
			t.Fatalf("%d believed of %d, among them %v, in\n%s", len(got), innocent, slices.Contains(got, victim), log.String())
		}
	})
}

// FuzzRefusal: who is refused is who stands where nginx writes it, whatever the client sends.
func FuzzRefusal(f *testing.F) {
	f.Add("GET / HTTP/1.1", "x", `", client: 9.9.9.9, server: "`)
	f.Add(`GET /", client: 9.9.9.9, server: x HTTP/1.1`, "", "")
	f.Add("\x00\xff", "%0a", `by zone "x", client: 9.9.9.9, server: `)
	f.Fuzz(func(t *testing.T, request, host, referrer string) {
		clean := func(s string) string {
			return strings.Map(func(r rune) rune { return map[bool]rune{true: -1, false: r}[r == '\n'] }, s)
		}
		line := fmt.Sprintf(begin+`limiting requests, excess: 1.000 by zone "perip", client: 192.0.2.1, server: x, request: "%s", host: "%s", referrer: "%s"`,
			clean(request), clean(host), clean(referrer))
		if r := parse([]byte(line)); r.kind != refusal || r.client != netip.MustParseAddr("192.0.2.1") || string(r.zone) != "perip" {
			t.Errorf("%q: %+v", line, r)
		}
		for _, hostile := range []string{request, host, referrer, begin + request} {
			parse([]byte(hostile))
		}
	})
}
