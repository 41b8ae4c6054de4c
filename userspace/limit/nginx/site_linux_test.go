package nginx_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/nginxlab"
	"github.com/headgate/headgate/test/vectors"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// site is a configuration, for nginx and for this package.
type site struct {
	directives strings.Builder // of the zones
	zones      []siteZone
	places     []place
	locations  map[string]string // directives, by path
}

type siteZone struct {
	zone *nginx.Zone[string]
	key  string // a or b
}

// place is a location.
type place struct {
	path   string
	limits []placeLimit
	dryRun bool
	status int
}

type placeLimit struct {
	limiter *nginx.Limiter[string]
	zone    siteZone
}

// addZone adds a zone, which is named by its number. size is what nginx gives it, and room what we do.
func (s *site) addZone(tb testing.TB, rate, key, size string, room int) {
	fmt.Fprintf(&s.directives, "limit_req_zone $arg_%s zone=z%02d:%s rate=%s;\n", key, len(s.zones), size, rate)
	s.zones = append(s.zones, siteZone{newZone(tb, rate, nginx.Options[string]{MaxKeys: room}), key})
}

// addPlace adds a location with the zones of some numbers. mode returns burst and delay of each, with
// nginx.NoDelay for nodelay.
func (s *site) addPlace(dryRun bool, status int, zones []int, mode func() (burst, delay uint64)) {
	p := place{path: fmt.Sprintf("/l%d", len(s.places)), dryRun: dryRun, status: status}
	var b strings.Builder
	fmt.Fprintf(&b, "limit_req_status %d;\n", status)
	if dryRun {
		b.WriteString("limit_req_dry_run on;\n")
	}
	for _, number := range zones {
		burst, delay := mode()
		fmt.Fprintf(&b, "limit_req zone=z%02d%s;\n", number, arguments(burst, delay))
		z := s.zones[number]
		p.limits = append(p.limits, placeLimit{z.zone.Limiter(burst, delay), z})
	}
	if s.locations == nil {
		s.locations = map[string]string{}
	}
	s.locations[p.path] = b.String()
	s.places = append(s.places, p)
}

// arguments writes burst and delay as nginx has them: no argument for 0.
func arguments(burst, delay uint64) string {
	text := ""
	if burst > 0 {
		text += fmt.Sprintf(" burst=%d", burst)
	}
	switch {
	case delay == nginx.NoDelay:
		text += " nodelay"
	case delay > 0:
		text += fmt.Sprintf(" delay=%d", delay)
	}
	return text
}

func (s *site) start(tb testing.TB, now time.Duration) *nginxlab.Server {
	return nginxlab.Start(tb, now, s.directives.String(), s.locations)
}

// answer is what both are compared by.
type answer struct {
	verdict   string
	status    int
	delay     time.Duration
	forgotten uint64
	lookups   []vectors.LimitReqLookup
}

// answer returns what we say that nginx does.
func (p place) answer(a, b string, now time.Duration) answer {
	before := p.forgotten()
	var uses []use
	for _, l := range p.limits {
		key := a
		if l.zone.key == "b" {
			key = b
		}
		uses = append(uses, use{l.limiter, key})
	}
	o := locate(uses, now)
	got := answer{o.verdict, http.StatusOK, o.delay, p.forgotten() - before, o.lookups}
	switch {
	case o.verdict == "" || o.verdict == "PASSED":
	case p.dryRun:
		got.verdict += "_DRY_RUN"
		got.delay = 0 // nginx tells it nowhere
	case o.verdict == "REJECTED":
		got.status = p.status
	}
	return got
}

func (p place) forgotten() uint64 {
	n := uint64(0)
	for _, l := range p.limits {
		c := l.zone.zone.Counters()
		n += c.EvictedDrained + c.EvictedLive
	}
	return n
}
