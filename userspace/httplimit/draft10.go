package httplimit

import (
	"strconv"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// The names of the fields of draft-ietf-httpapi-ratelimit-headers-10, canonical.
const (
	draft10Policy = "Ratelimit-Policy"
	draft10State  = "Ratelimit"
)

// draft10 adds the fields of draft-ietf-httpapi-ratelimit-headers-10: two lists of structured fields (RFC 9651)
// with an item for each limit. Later drafts have other names, so it is a family of its own.
func (r *Response) draft10(d *ruleset.Decision) {
	from := len(r.text)
	for i := range d.Limits {
		if isShown(d, i) {
			r.text = appendState(appendComma(r.text, from), d, &d.Limits[i])
		}
	}
	if len(r.text) == from {
		return
	}
	r.end(draft10State)
	from = len(r.text)
	for i := range d.Limits {
		if isShown(d, i) {
			r.text = appendPolicy(appendComma(r.text, from), &d.Limits[i])
		}
	}
	r.end(draft10Policy)
}

// isShown reports whether limit i is enforced, its state known, and no other of the same zone says it better.
func isShown(d *ruleset.Decision, i int) bool {
	a := &d.Limits[i]
	if a.DryRun || a.Unknown {
		return false
	}
	for j := range d.Limits {
		b := &d.Limits[j]
		if j == i || b.DryRun || b.Unknown || b.Zone != a.Zone {
			continue
		}
		if leavesLess(b, a) || j < i && !leavesLess(a, b) {
			return false
		}
	}
	return true
}

// appendPolicy appends what a allows: `"perip";q=21;w=3`.
func appendPolicy(b []byte, a *ruleset.Applied) []byte {
	b = appendString(b, a.Zone)
	b = appendInteger(append(b, ";q="...), a.Result.Limit)
	switch {
	case isSlots(a):
		b = append(b, `;qu="concurrent-requests"`...)
	case a.Window > 0:
		b = appendInteger(append(b, ";w="...), seconds(a.Window))
	}
	return b
}

// appendState appends what a leaves: `"perip";r=20;t=1`. When there will be more is left out where it is not known,
// and where it is later than Retry-After, which counts.
func appendState(b []byte, d *ruleset.Decision, a *ruleset.Applied) []byte {
	b = appendString(b, a.Zone)
	b = appendInteger(append(b, ";r="...), a.Result.Remaining)
	more := seconds(a.Result.NextAfter)
	refused := !d.Allowed && d.RetryAfter != limit.Never
	if isSlots(a) || refused && more > retrySeconds(d) {
		return b
	}
	return appendInteger(append(b, ";t="...), more)
}

// appendComma appends what is between the items of the list that begins at from.
func appendComma(b []byte, from int) []byte {
	if len(b) > from {
		b = append(b, ", "...)
	}
	return b
}

// appendString appends a String of a structured field (RFC 9651, section 3.3.3). As it can only have printable
// ASCII, other bytes are percent-encoded.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	s = policyName(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = appendEscape(b, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	b = append(b, '%')
	if c < 0x10 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, uint64(c), 16)
}

// policyName returns the name under which clients know a zone.
func policyName(zone string) string {
	if zone == "" {
		return "default"
	}
	return zone
}
