package envoy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/headgate/headgate/userspace/percent"
)

// fields are header fields that are being collected. Their memory is used again.
type fields struct {
	header http.Header
	values []string // room for values, of which most names have one
}

// keptFields is the most fields whose memory is kept.
const keptFields = 64

// empty returns a header for fields, which is forgotten with f.
func (f *fields) empty() http.Header {
	if f.header == nil {
		f.header = make(http.Header)
	}
	return f.header
}

// reset forgets the fields, and reports whether the memory is worth keeping.
func (f *fields) reset() bool {
	if len(f.header) > keptFields || len(f.values) > keptFields {
		return false
	}
	clear(f.header)
	clear(f.values)
	f.values = f.values[:0]
	return true
}

// collect adds the fields of a request, from whichever of the two forms Envoy was told to send. Of those of the map that have
// one key, which Envoy does not send, the last counts.
func (f *fields) collect(mapped, listed []pair) {
	f.values = slices.Grow(f.values, len(mapped)+len(listed))
	if f.addAll(mapped) {
		clear(f.header)
		f.addAll(lastOfEach(mapped))
	}
	f.addAll(listed)
}

// addAll reports whether fields have the same name.
func (f *fields) addAll(pairs []pair) (again bool) {
	for i := range pairs {
		if f.add(pairs[i].key, pairs[i].value) {
			again = true
		}
	}
	return again
}

// lastOfEach returns the last pair of each key.
func lastOfEach(pairs []pair) []pair {
	last := make(map[string]int, len(pairs))
	for i := range pairs {
		last[pairs[i].key] = i
	}
	var kept []pair
	for i := range pairs {
		if last[pairs[i].key] == i {
			kept = append(kept, pairs[i])
		}
	}
	return kept
}

// add adds a field, but for those that net/http takes out of the header: pseudo ones and the host. It reports whether there
// was one of this name.
func (f *fields) add(name, value string) (again bool) {
	if strings.HasPrefix(name, ":") {
		return false
	}
	if name = http.CanonicalHeaderKey(name); name == "Host" {
		return false
	}
	if known, has := f.header[name]; has {
		f.header[name] = append(known, value)
		return true
	}
	n := len(f.values)
	f.values = append(f.values, value)
	f.empty()[name] = f.values[n : n+1 : n+1]
	return false
}

// splitTarget returns the decoded path of a request line, and its query, as url.ParseRequestURI does. An escape that
// is none, which that would refuse and Envoy lets pass, is taken as it stands: no limit is got around by it.
func splitTarget(target string) (path, rawQuery string) {
	path, rawQuery, _ = strings.Cut(target, "?")
	if strings.IndexByte(path, '%') < 0 {
		return path, rawQuery
	}
	var b strings.Builder
	for path != "" {
		c, n := percent.Decode(path)
		b.WriteByte(c)
		path = path[n:]
	}
	return b.String(), rawQuery
}
