package docs_test

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// TestTopologies checks the rows of the guide that say who is charged behind which proxies.
func TestTopologies(t *testing.T) {
	_, table, ok := strings.Cut(read(t, guide), "| in front of the server | `client_ip` | the peer | the header that arrives | charged |\n|---|---|---|---|---|\n")
	if !ok {
		t.Fatal("docs/http.md has no table of topologies")
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 5 {
			break
		}
		rows++
		t.Run(cells[0], func(t *testing.T) { checkTopology(t, cells[1:]) })
	}
	if rows < 12 {
		t.Errorf("%d rows", rows)
	}
}

var inTicks = regexp.MustCompile("`([^`]*)`")

func checkTopology(t *testing.T, cells []string) {
	t.Helper()
	set := setOf(t, "http:\n  client_ip: "+strings.Trim(cells[0], "`")+
		"\n  zones: {a: {key: ip, rate: 1r/s}}\n  rules: [{limits: [{zone: a}]}]\n")
	r := ruleset.Request{Method: http.MethodGet, Path: "/", Header: http.Header{}}
	if cells[1] != "a socket" {
		r.Peer = netip.MustParseAddr(cells[1])
	}
	for _, field := range inTicks.FindAllStringSubmatch(cells[2], -1) {
		name, value, _ := strings.Cut(field[1], ": ")
		r.Header.Add(name, value)
	}
	if got := set.Explain(&r, 0).Client.String(); got != cells[3] {
		t.Errorf("charged %s, and the guide says %s", got, cells[3])
	}
}

// TestClientAmongProxies checks who is charged for a curl on the machine of the proxy, which is one of those
// that are trusted, and for one that sends from another address, as the guide advises.
func TestClientAmongProxies(t *testing.T) {
	const proxies = `{header: X-Forwarded-For, trusted_proxies: [127.0.0.1, "::1"]}`
	for own, charged := range map[string]string{"127.0.0.1": "198.51.100.66", "::1": "198.51.100.66", "127.0.0.5": "127.0.0.5"} {
		checkTopology(t, []string{proxies, "127.0.0.1", "`X-Forwarded-For: 198.51.100.66, " + own + "`", charged})
	}
}

func setOf(tb testing.TB, text string) *ruleset.Set {
	tb.Helper()
	file, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	set, err := ruleset.New(file.HTTP)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}
