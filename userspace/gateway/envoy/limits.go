package envoy

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/userspace/httplimit"
)

// limits is a RateLimitRequest, and what is asked about it. Its memory is used again.
type limits struct {
	domain      string
	hits        uint32
	entries     []pair        // of all descriptors
	descriptors []description // at most mostDescriptors
	beyond      int           // descriptors that are too many, of which no more is known

	questions []question
	numbers   []int // room for those of a question's descriptors, of which most have one
	response  httplimit.Response
}

// description is a descriptor of a RateLimitRequest.
type description struct {
	from, to int // its entries
	hits     uint64
	ownHits  bool // it has hits, which may be none
	negative bool // they are to be given back

	told *question // the question whose answer is its status; nil if it lets pass
}

// read implements readable. The numbers are those of the fields of service.ratelimit.v3.
func (l *limits) read(m message) error { return m.each(l.field) }

func (l *limits) field(f field) error {
	switch f.tag {
	case 1<<3 | asBytes:
		return f.into(&l.domain)
	case 2<<3 | asBytes:
		return l.descriptor(f.message)
	case 3<<3 | asVarint:
		l.hits = uint32(f.varint)
	}
	return nil
}

func (l *limits) descriptor(m message) error {
	if len(l.descriptors) == mostDescriptors {
		l.beyond++
		return nil
	}
	d := description{from: len(l.entries)}
	err := m.each(func(f field) error {
		switch f.tag {
		case 1<<3 | asBytes:
			return appendPair(&l.entries, f)
		case 3<<3 | asBytes:
			d.ownHits = true
			return f.each(d.readHits)
		case 4<<3 | asVarint:
			d.negative = f.varint != 0
		}
		return nil
	})
	d.to = len(l.entries)
	l.descriptors = append(l.descriptors, d)
	return err
}

func (d *description) readHits(f field) error {
	if f.tag == 1<<3|asVarint {
		d.hits = f.varint
	}
	return nil
}

// entriesOf returns the entries of a descriptor.
func (l *limits) entriesOf(d *description) []pair { return l.entries[d.from:d.to] }

// hitsOf returns the hits of a descriptor: its own, which may be 0, or those of the call, which are 1 if
// not told.
func (l *limits) hitsOf(d *description) uint64 {
	if d.ownHits {
		return d.hits
	}
	return max(1, uint64(l.hits))
}

// answer returns the answer that says what was decided: a RateLimitResponse.
func (l *limits) answer(asked []question, o *httplimit.Options) written {
	if len(asked) > 1 {
		// Of the older families only the fields of the last are told: of the request that leaves least.
		slices.SortStableFunc(asked, func(p, q question) int { return cmp.Compare(leaves(&q), leaves(&p)) })
	}
	l.tell(asked)
	for i := range asked {
		if q := &asked[i]; !q.decision.Allowed {
			return l.refusing(q, o)
		}
	}
	b := make(written, 0, roomPassing)
	b = l.appendStatuses(b, ratelimitv3.RateLimitResponse_OK)
	for i := range asked {
		l.response.Tell(asked[i].decision, o)
		b = appendValues(b, 3, &l.response, i < len(asked)-1)
	}
	return b
}

// tell gives each descriptor the question that it is of.
func (l *limits) tell(asked []question) {
	for i := range asked {
		for _, number := range asked[i].of {
			l.descriptors[number].told = &asked[i]
		}
	}
}

// refusing returns the answer to a request that is refused, with the proxy's fields and body, but for the status, which is Envoy's.
func (l *limits) refusing(q *question, o *httplimit.Options) written {
	q.decision.Status = http.StatusTooManyRequests
	l.response.Refuse(q.decision, strings.Join(q.Header["Accept"], ","), o)
	b := make(written, 0, roomRefusing)
	b = l.appendStatuses(b, ratelimitv3.RateLimitResponse_OVER_LIMIT)
	b = appendValues(b, 3, &l.response, false)
	return appendString(b, 5, l.response.Body)
}

// appendStatuses appends the code of all, and the statuses of the descriptors.
func (l *limits) appendStatuses(b []byte, overall ratelimitv3.RateLimitResponse_Code) []byte {
	b = appendVarint(b, 1, uint64(overall))
	for i := range l.descriptors {
		b = appendStatus(b, 2, l.descriptors[i].told)
	}
	return b
}

// reset forgets the request, and reports whether the memory is worth keeping.
func (l *limits) reset() bool {
	kept := max(len(l.entries), len(l.descriptors)) <= keptFields
	clear(l.entries)
	clear(l.descriptors)
	clear(l.questions)
	*l = limits{entries: l.entries[:0], descriptors: l.descriptors[:0], questions: l.questions[:0], numbers: l.numbers[:0], response: l.response}
	return kept
}
