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

// problem is the body of a refusal, as an object of RFC 9457. Types, titles and the member violated-policies are those of
// draft-ietf-httpapi-ratelimit-headers-10.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Violated []string `json:"violated-policies"`
}

const problemTypes = "https://iana.org/assignments/http-problem-types#"

func problemOf(d *ruleset.Decision) problem {
	p := problem{
		Type:     problemTypes + "quota-exceeded",
		Title:    "Request cannot be satisfied as assigned quota has been exceeded",
		Status:   d.Status,
		Detail:   detail(d),
		Violated: violated(d),
	}
	if d.Status >= 500 {
		p.Type = problemTypes + "temporary-reduced-capacity"
		p.Title = "Request cannot be satisfied due to temporary server capacity constraints"
	}
	return p
}

// violated returns the names of the limits that refused, each once, in order.
func violated(d *ruleset.Decision) []string {
	names := []string{}
	for _, a := range d.Limits {
		name := policyName(a.Zone)
		if !a.DryRun && !a.Result.Allowed && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// detail says what a person can do.
func detail(d *ruleset.Decision) string {
	name := strconv.Quote(policyName(d.Zone))
	if d.RetryAfter == limit.Never {
		return "The request is larger than limit " + name + " allows at once. Trying again does not help."
	}
	unit := " seconds."
	if retrySeconds(d) == 1 {
		unit = " second."
	}
	return "Limit " + name + " is used up. Try again in " + strconv.FormatUint(retrySeconds(d), 10) + unit
}

// Answer returns what a refused request is answered with: what Fields sets, and a body in the media type
// that accept, the request's Accept field, likes best (several lines of it joined by commas). It is for fronts
// that are no http.Handler; the middleware answers the same, unless it has an o.Reject, which is not looked at here. The header has
// no Content-Length; d is not kept.
func Answer(d *ruleset.Decision, accept string, o Options) (status int, header http.Header, body []byte) {
	header = make(http.Header, 8)
	Fields(header, d, o)
	body = describe(header, d, accept)
	return d.Status, header, body
}

// describe returns the body of a refusal, and sets in h what is said of a body.
func describe(h http.Header, d *ruleset.Decision, accept string) []byte {
	contentType, body := rejection(problemOf(d), negotiate(accept))
	h["Content-Type"] = []string{contentType}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	return body
}

// writeRejection answers a refused request in the media type that it asks for.
func writeRejection(w http.ResponseWriter, r *http.Request, d *ruleset.Decision) {
	h := w.Header()
	body := describe(h, d, strings.Join(r.Header["Accept"], ","))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(d.Status)
	if r.Method != http.MethodHead {
		// An error is that the client left, which is its own affair.
		_, _ = w.Write(body)
	}
}

func rejection(p problem, t mediaType) (contentType string, body []byte) {
	switch t {
	case plainText:
		return "text/plain; charset=utf-8", fmt.Appendf(nil, "%s\n\n%s\n", heading(p), p.Detail)
	case htmlText:
		title, text := html.EscapeString(heading(p)), html.EscapeString(p.Detail)
		return "text/html; charset=utf-8", fmt.Appendf(nil,
			"<!doctype html>\n<html lang=\"en\">\n<title>%s</title>\n<h1>%s</h1>\n<p>%s</p>\n</html>\n", title, title, text)
	default:
		return "application/problem+json", p.json()
	}
}

// json returns p as encoding/json writes it, with a line's end. A flood of refusals is when it counts that reflection is slow.
func (p *problem) json() []byte {
	b := make([]byte, 0, 512)
	b = appendText(append(b, `{"type":`...), p.Type)
	b = appendText(append(b, `,"title":`...), p.Title)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(p.Status), 10)
	b = appendText(append(b, `,"detail":`...), p.Detail)
	b = append(b, `,"violated-policies":[`...)
	for i, name := range p.Violated {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, name)
	}
	return append(b, "]}\n"...)
}

// appendText appends a JSON string. Names in a configuration, and what is said of them, are printable ASCII.
func appendText(b []byte, text string) []byte {
	start := len(b)
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			b = append(b, '\\', c)
		case c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>' || c == '&':
			quoted, err := json.Marshal(text)
			if err != nil { // not of a string
				quoted = []byte(`""`)
			}
			return append(b[:start], quoted...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// heading returns the status as a text: 429 Too Many Requests.
func heading(p problem) string {
	text := http.StatusText(p.Status)
	if text == "" {
		text = p.Title
	}
	return fmt.Sprintf("%d %s", p.Status, text)
}
