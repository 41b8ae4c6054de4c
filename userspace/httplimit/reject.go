package httplimit

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// problem is the body of a refusal, as an object of RFC 9457, but for the names of the limits. Types and titles are those of
// draft-ietf-httpapi-ratelimit-headers-10.
type problem struct {
	Type, Title string
	Status      int
	Detail      []byte
}

const problemTypes = "https://iana.org/assignments/http-problem-types#"

func problemOf(d *ruleset.Decision, detail []byte) problem {
	p := problem{
		Type:   problemTypes + "quota-exceeded",
		Title:  "Request cannot be satisfied as assigned quota has been exceeded",
		Status: d.Status,
		Detail: detail,
	}
	if d.Status >= 500 || d.Unavailable {
		p.Type = problemTypes + "temporary-reduced-capacity"
		p.Title = "Request cannot be satisfied due to temporary server capacity constraints"
	}
	return p
}

// violated appends to names those of the limits that the request went beyond, each once, in order.
func violated(d *ruleset.Decision, names []string) []string {
	for i := range d.Limits {
		a := &d.Limits[i]
		name := policyName(a.Zone)
		if !a.DryRun && !a.Result.Allowed && !a.Unknown && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// appendDetail says what a person can do.
func appendDetail(b []byte, d *ruleset.Decision) []byte {
	if d.Unavailable {
		b = append(b, "Limits cannot be looked up at the moment, and this request is not let through without them. Try again in "...)
		return appendSeconds(b, retrySeconds(d))
	}
	if d.RetryAfter == limit.Never {
		b = strconv.AppendQuote(append(b, "The request is larger than limit "...), policyName(d.Zone))
		return append(b, " allows at once. Trying again does not help."...)
	}
	b = strconv.AppendQuote(append(b, "Limit "...), policyName(d.Zone))
	return appendSeconds(append(b, " is used up. Try again in "...), retrySeconds(d))
}

// appendSeconds appends a number of seconds and the end of a sentence.
func appendSeconds(b []byte, n uint64) []byte {
	b = strconv.AppendUint(b, n, 10)
	if n == 1 {
		return append(b, " second."...)
	}
	return append(b, " seconds."...)
}

// Refuse makes r the answer to a refused request, whose status is d.Status: what Tell makes it, and a body in the media type
// that accept, the request's Accept field, likes best (several lines of it joined by commas). Of the fields that a body has,
// Content-Length is not among those of r. An o.Reject is not looked at. d is not kept.
func (r *Response) Refuse(d *ruleset.Decision, accept string, o *Options) {
	r.Tell(d, o)
	var names [4]string // mostly enough
	r.detail = appendDetail(r.detail[:0], d)
	var contentType string
	contentType, r.Body = rejection(problemOf(d, r.detail), violated(d, names[:0]), negotiate(accept), r.Body)
	r.text = append(r.text, contentType...)
	r.end("Content-Type")
	r.text = append(r.text, "nosniff"...)
	r.end("X-Content-Type-Options")
}

// refuse answers a refused request, by o.Reject or in the media type that it asks for.
func (l *limited) refuse(w http.ResponseWriter, r *http.Request, d *ruleset.Decision) {
	answer := l.answers.Get().(*Response)
	defer l.answers.Put(answer)
	if l.Reject != nil {
		answer.Tell(d, &l.Options)
		answer.SetIn(w.Header())
		l.Reject(w, r, d)
		return
	}
	answer.Refuse(d, strings.Join(r.Header["Accept"], ","), &l.Options)
	answer.SetIn(w.Header())
	answer.write(w, r, d.Status)
}

// write writes what the fields are for.
func (r *Response) write(w http.ResponseWriter, to *http.Request, status int) {
	head := to.Method == http.MethodHead
	if head || len(r.Body) > mostCounted {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(r.Body))}
	}
	w.WriteHeader(status)
	if !head {
		// An error is that the client left, which is its own affair.
		_, _ = w.Write(r.Body)
	}
}

// mostCounted is how long a body may be whose length net/http sets itself, which costs less than a field. It does that for 2,048 bytes.
const mostCounted = 2000

// rejection appends a body to dst. What a machine is told, it is also told by whose limits.
func rejection(p problem, violated []string, t mediaType, dst []byte) (contentType string, body []byte) {
	switch t {
	case plainText:
		return "text/plain; charset=utf-8", fmt.Appendf(dst, "%s\n\n%s\n", heading(p), string(p.Detail))
	case htmlText:
		title, text := html.EscapeString(heading(p)), html.EscapeString(string(p.Detail))
		return "text/html; charset=utf-8", fmt.Appendf(dst,
			"<!doctype html>\n<html lang=\"en\">\n<title>%s</title>\n<h1>%s</h1>\n<p>%s</p>\n</html>\n", title, title, text)
	default:
		return "application/problem+json", p.appendJSON(dst, violated)
	}
}

// appendJSON appends p and its member violated-policies, also of the draft, as encoding/json writes it, with a line's end. A
// flood of refusals is when it counts that reflection is slow.
func (p *problem) appendJSON(b []byte, violated []string) []byte {
	b = append(append(b, `{"type":"`...), p.Type...) // neither this nor the title has what would have to be escaped
	b = append(append(b, `","title":"`...), p.Title...)
	b = strconv.AppendInt(append(b, `","status":`...), int64(p.Status), 10)
	b = appendText(append(b, `,"detail":`...), p.Detail)
	b = append(b, `,"violated-policies":[`...)
	for i, name := range violated {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, name)
	}
	return append(b, "]}\n"...)
}

// appendText appends a JSON string. Names in a configuration, and what is said of them, are printable ASCII.
func appendText[T string | []byte](b []byte, text T) []byte {
	start, written := len(b), 0
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			b = append(append(b, text[written:i]...), '\\')
			written = i
		case c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>' || c == '&':
			quoted, err := json.Marshal(string(text))
			if err != nil { // not of a string
				quoted = []byte(`""`)
			}
			return append(b[:start], quoted...)
		}
	}
	return append(append(b, text[written:]...), '"')
}

// heading returns the status as a text: 429 Too Many Requests.
func heading(p problem) string {
	text := http.StatusText(p.Status)
	if text == "" {
		text = p.Title
	}
	return fmt.Sprintf("%d %s", p.Status, text)
}
