package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/headgate/headgate/userspace/config"
)

// ZoneSetting is a zone's new limit: one of its fields.
type ZoneSetting struct {
	Rate       string `json:"rate,omitempty" doc:"as 10r/s, 30r/m or 100r/h"`
	Concurrent uint64 `json:"concurrent,omitempty" doc:"requests at a time, 1 or more"`
}

// KeyReset says what became of a key.
type KeyReset struct {
	Reset bool `json:"reset" doc:"the key was known, and is forgotten"`
}

func zoneOperations() []operation {
	part := parameter{
		name: "part", doc: "a part of the key as people write it, in the order of the zone's key; again for each",
		repeated: true, required: true,
	}
	unknown := []int{http.StatusNotFound, http.StatusUnprocessableEntity}
	return []operation{
		reads(operation{
			method: http.MethodGet, path: "/v1/zones", id: "listZones",
			summary: "All zones of HTTP requests, with the limits in force and what they did",
		}, func(a Agent, _ *http.Request) ([]Zone, error) { return a.Zones(), nil }),
		reads(operation{
			method: http.MethodGet, path: "/v1/zones/{zone}", id: "getZone",
			summary: "One zone", failures: unknown[:1],
		}, zoneOf),
		takes(operation{
			method: http.MethodPatch, path: "/v1/zones/{zone}", id: "setZone",
			summary:  "Change a zone's rate, or how many requests it lets through at a time",
			details:  "It holds from the next request on and until the configuration is read again. What keys owe stays, cut to what the new limit lets them.",
			failures: unknown,
		}, setZone),
		reads(operation{
			method: http.MethodGet, path: "/v1/zones/{zone}/keys", id: "topKeys",
			summary: "The keys that owe most", query: []parameter{shown()}, failures: unknown,
		}, func(a Agent, r *http.Request) ([]KeyState, error) { return a.TopKeys(r.PathValue("zone"), number(r)) }),
		reads(operation{
			method: http.MethodGet, path: "/v1/zones/{zone}/key", id: "peekKey",
			summary: "The state of a key under each use of the zone", query: []parameter{part}, failures: unknown,
			details: "Nothing is charged. A key that was never seen has the state of an idle one.",
		}, func(a Agent, r *http.Request) ([]KeyState, error) { return a.Peek(r.PathValue("zone"), keyOf(r)) }),
		reads(operation{
			method: http.MethodDelete, path: "/v1/zones/{zone}/key", id: "resetKey",
			summary: "Forget what a key owes", query: []parameter{part}, failures: unknown,
		}, func(a Agent, r *http.Request) (KeyReset, error) {
			known, err := a.Reset(r.PathValue("zone"), keyOf(r))
			note(r, "known", known)
			return KeyReset{known}, err
		}),
	}
}

func keyOf(r *http.Request) []string { return r.URL.Query()["part"] }

func zoneOf(a Agent, r *http.Request) (Zone, error) {
	name, zones := r.PathValue("zone"), a.Zones()
	i := slices.IndexFunc(zones, func(z Zone) bool { return z.Name == name })
	if i < 0 {
		return Zone{}, problem(http.StatusNotFound, "there is no zone %.40q; there %s", name, zonesThereAre(zones))
	}
	return zones[i], nil
}

// shownZones is how many zones an error names.
const shownZones = 20

// zonesThereAre ends a sentence that begins with there.
func zonesThereAre(zones []Zone) string {
	var names []string
	for _, z := range zones[:min(len(zones), shownZones)] {
		names = append(names, z.Name)
	}
	switch {
	case len(zones) == 0:
		return "are none in the file"
	case len(zones) == 1:
		return "is " + names[0]
	case len(zones) > shownZones:
		return fmt.Sprintf("are %s and %d more", strings.Join(names, ", "), len(zones)-shownZones)
	default:
		return "are " + strings.Join(names, ", ")
	}
}

func setZone(a Agent, r *http.Request, s ZoneSetting) (Zone, error) {
	zone, err := zoneOf(a, r)
	if err != nil {
		return Zone{}, err
	}
	change, err := s.change(zone)
	if err != nil {
		return Zone{}, err
	}
	note(r, "was", limitText(zone))
	return a.SetZone(zone.Name, change)
}

// limitText returns the limit of a zone in words.
func limitText(z Zone) string {
	if z.Rate == "" {
		return fmt.Sprintf("%d concurrent", z.Concurrent)
	}
	return z.Rate
}

// change returns what the setting makes of a zone.
func (s ZoneSetting) change(z Zone) (ZoneChange, error) {
	algorithm := config.Algorithm(z.Algorithm)
	switch {
	case (s.Rate == "") == (s.Concurrent == 0):
		return ZoneChange{}, problem(http.StatusUnprocessableEntity, "give a rate, or how many are concurrent: one of the two")
	case s.Concurrent > 0 && algorithm != config.Concurrent:
		return ZoneChange{}, problem(http.StatusUnprocessableEntity, "zone %q has a rate, %s; give another rate", z.Name, z.Rate)
	case s.Concurrent > 0:
		return ZoneChange{Slots: s.Concurrent}, nil
	case algorithm == config.Concurrent:
		return ZoneChange{}, problem(http.StatusUnprocessableEntity, "zone %q counts requests at a time; give how many are concurrent", z.Name)
	}
	quota, err := config.ParseQuota(algorithm, s.Rate)
	if err != nil {
		return ZoneChange{}, problem(http.StatusUnprocessableEntity, "%v", err)
	}
	return ZoneChange{Quota: quota}, nil
}
