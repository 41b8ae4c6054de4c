package config

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	defaultUpstreamTimeout = time.Minute
	// mostInRow bounds the answers in a row that health checks wait for.
	mostInRow = 100
	// serverForm is how a server is written.
	serverForm = `"http://127.0.0.1:9000" or "https://app.internal"`
)

func defaultHealth() Health {
	return Health{Interval: 5 * time.Second, Timeout: time.Second, Failures: 3, Successes: 2}
}

func (w *whole) readUpstream(v value) {
	u := &Upstream{Timeout: defaultUpstreamTimeout, PreserveHost: true, Health: defaultHealth()}
	w.Upstream = u
	if !v.isMapping() {
		u.Servers = v.servers()
		return
	}
	m, ok := v.mapping(upstreamFields())
	if !ok {
		return
	}
	if s := m.field("servers"); s.given() {
		u.Servers = s.servers()
	} else {
		m.lack(v, `no servers; add servers: ["http://127.0.0.1:9000"]`)
	}
	u.Timeout = m.duration("timeout", leastTime, day, u.Timeout)
	u.PreserveHost = !m.has("preserve_host") || m.flag("preserve_host")
	if h := m.field("health"); h.given() {
		u.Health = h.health()
	}
}

// servers returns the servers of an upstream, each once.
func (v value) servers() []*url.URL {
	elements, _ := v.oneOrMore(serverForm)
	first := make(map[string]int)
	var servers []*url.URL
	for _, e := range elements {
		u, ok := e.server()
		if !ok {
			continue
		}
		if line, twice := first[u.String()]; twice {
			e.fail("%s is in line %d already; remove one", u, line)
			continue
		}
		first[u.String()] = e.node.Line
		servers = append(servers, u)
	}
	return servers
}

// server returns the URL of a server, which has scheme and host only.
func (v value) server() (*url.URL, bool) {
	text, ok := v.text()
	if !ok {
		return nil, false
	}
	u, ok := v.url(text)
	switch {
	case !ok:
		return nil, false
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery:
		v.fail("%.60q: a server has neither path nor query, as requests bring theirs; use %s://%s", text, u.Scheme, u.Host)
		return nil, false
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, true
}

// url returns a URL of http or https, without user and fragment.
func (v value) url(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	switch {
	case strings.HasPrefix(text, "unix:"):
		v.fail("%.60q: a unix socket is not possible here; use %s", text, v.form)
	case !strings.Contains(text, "://"):
		v.fail("%.60q has no scheme; use http://%.60s, or https", text, text)
	case err != nil:
		v.fail("%.60q is no URL; use %s", text, v.form)
	case u.Scheme != "http" && u.Scheme != "https":
		v.fail("%.60q: scheme %.20s is neither http nor https; use %s", text, u.Scheme, v.form)
	case u.Hostname() == "" || strings.ContainsAny(u.Host, " \t"):
		v.fail("%.60q has no host; use %s", text, v.form)
	case !rightPort(u):
		v.fail("%.60q: the port is not 1 to 65535; use %s", text, v.form)
	case u.User != nil || u.Fragment != "":
		v.fail("a URL with a user or a fragment; use %s://%s", u.Scheme, u.Host)
	default:
		return u, true
	}
	return nil, false
}

func rightPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

func (v value) health() Health {
	h := defaultHealth()
	m, ok := v.mapping(healthFields())
	if !ok {
		return h
	}
	if p := m.field("path"); p.given() {
		h.Path = p.healthPath()
	} else {
		m.lack(v, "no path; add path: /healthz, or what the servers answer")
	}
	h.Interval = m.duration("interval", leastTime, day, h.Interval)
	h.Timeout = m.duration("timeout", leastTime, day, min(h.Timeout, h.Interval))
	if h.Timeout > h.Interval {
		m.field("timeout").fail("%s is longer than the interval of %s; use at most that", formatDuration(h.Timeout), formatDuration(h.Interval))
	}
	h.Failures = int(m.count("failures", 1, mostInRow, uint64(h.Failures)))
	h.Successes = int(m.count("successes", 1, mostInRow, uint64(h.Successes)))
	return h
}

func (v value) healthPath() string {
	text, ok := v.text()
	if !ok {
		return ""
	}
	if _, err := url.ParseRequestURI(text); err != nil || !strings.HasPrefix(text, "/") || strings.Contains(text, "#") {
		v.fail("%.40q is not a path as in a request; use %s", text, v.form)
		return ""
	}
	return text
}
