package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/rate"
)

// sectionsInForce returns what is said of the sections of a file but http, in the order of the documentation.
func sectionsInForce(f *config.File) []render.SectionInForce {
	all := []render.SectionInForce{}
	if f.Redis != nil {
		all = append(all, redisInForce(f.Redis))
	}
	if f.Fleet != nil {
		all = append(all, fleetInForce(f.Fleet))
	}
	if f.Kernel != nil {
		all = append(all, kernelInForce(f.Kernel))
	}
	if f.Upstream != nil {
		all = append(all, proxyInForce(f))
	}
	if f.Auth != nil {
		all = append(all, authInForce(f.Auth))
	}
	if f.HandDown != nil {
		all = append(all, handDownInForce(f.HandDown))
	}
	if f.Adaptive != nil {
		all = append(all, adaptiveInForce(f.Adaptive))
	}
	return append(all, watchedInForce(f)...)
}

// proxyInForce returns what is said of listen, upstream and timeouts.
func proxyInForce(f *config.File) render.SectionInForce {
	s := render.SectionInForce{Name: "listen and upstream"}
	for _, l := range f.Listen {
		s.Add("requests at", listenerWords(l))
	}
	u, t := f.Upstream, f.Timeouts
	for _, server := range u.Servers {
		s.Add("sent to", server.String())
	}
	host := "that of the server"
	if u.PreserveHost {
		host = "as the client sent it"
	}
	s.Add("host", host)
	s.Add("health", healthWords(u.Health))
	s.Add("timeouts", fmt.Sprintf("header %s, body %s, response %s, idle %s, tunnels %s; servers begin to answer in %s; drain %s",
		render.Duration(t.Header), render.Duration(t.Read), render.Duration(t.Write), render.Duration(t.Idle), render.Duration(t.Tunnel),
		render.Duration(u.Timeout), render.Duration(t.Drain)))
	return s
}

func healthWords(h config.Health) string {
	if h.Path == "" {
		return "servers are not asked"
	}
	return fmt.Sprintf("%s is asked for each %s, for up to %s; left out after %d bad in a row, taken back after %d good",
		h.Path, render.Duration(h.Interval), render.Duration(h.Timeout), h.Failures, h.Successes)
}

func listenerWords(l config.Listener) string {
	var words string
	switch l.Network {
	case config.NetworkUnix:
		words = "the unix socket " + l.Address + accessWords(l.Access)
	case config.NetworkSystemd:
		words = "the socket " + l.Address + " of systemd"
	default:
		words = l.Address
	}
	if l.TLS != nil {
		words += ", TLS by " + l.TLS.Certificate
	}
	if len(l.ProxyProtocol) > 0 {
		words += ", with the PROXY protocol from " + prefixesWords(l.ProxyProtocol)
	}
	return words
}

// accessWords says who may connect to a unix socket.
func accessWords(a config.Access) string {
	words := fmt.Sprintf(", mode %04o", cmp.Or(a.Mode, config.DefaultSocketMode))
	if a.Group != "" {
		words += ", group " + a.Group
	}
	return words
}

// prefixesWords lists prefixes, not too many of them.
func prefixesWords(prefixes []netip.Prefix) string {
	var all []string
	for _, p := range prefixes {
		all = append(all, prefixWords(p))
	}
	return fewOf(all)
}

func authInForce(a *config.Auth) render.SectionInForce {
	s := render.SectionInForce{Name: "auth"}
	for _, l := range a.Listen {
		s.Add("nginx, Traefik, Caddy at", listenerWords(l))
	}
	for _, l := range a.GRPC {
		s.Add("Envoy at", listenerWords(l))
	}
	gateways := "those on unix sockets"
	if len(a.Gateways) > 0 {
		gateways = prefixesWords(a.Gateways) + ", and " + gateways
	}
	s.Add("who may ask", gateways)
	if a.Domain != "" {
		s.Add("domain", a.Domain)
	}
	return s
}

func handDownInForce(h *config.HandDown) render.SectionInForce {
	s := render.SectionInForce{Name: "handdown"}
	s.Add("when", fmt.Sprintf("%d offences within %s", h.After, render.Duration(h.Within)))
	whose := fmt.Sprintf("the /%d (IPv4) or /%d (IPv6) that it came from", h.IPv4Prefix, h.IPv6Prefix)
	if h.Action == config.Limit {
		s.Add("then", "the kernel limits "+whose+" to "+kernelLimitWords(h.Limit))
	} else {
		s.Add("then", "the kernel drops all packets of "+whose)
	}
	s.Add("for", fmt.Sprintf("%s, twice as long each time, up to %s", render.Duration(h.For), render.Duration(h.Max)))
	s.Add("at once", "up to "+rate.FormatCount(uint64(h.MaxRules))+" rules")
	private := "spared"
	if h.Private {
		private = "as all others"
	}
	s.Add("private addresses", private)
	for _, log := range h.NginxLogs {
		s.Add("offences also from", log)
	}
	if h.DryRun {
		s.Add("dry run", "it is logged and counted, and no rule is made")
	}
	return s
}

func adaptiveInForce(a *config.Adaptive) render.SectionInForce {
	s := render.SectionInForce{Name: "adaptive"}
	s.Add("too much", fmt.Sprintf("%s, looked at each %s", signalWords(a), render.Duration(a.Interval)))
	s.Add("then", fmt.Sprintf("rates times %s; below %s of that, plus %s", number(a.Decrease), percent(a.Recover), percent(a.Increase)))
	s.Add("within", fmt.Sprintf("%s to %s of the rates as written", percent(a.Floor), percent(a.Ceiling)))
	var rates []string
	if a.Kernel {
		rates = append(rates, "the kernel's default limit")
	}
	if a.HTTP {
		rates = append(rates, "those of zones")
	}
	s.Add("rates", strings.Join(rates, ", "))
	if a.Observe {
		s.Add("observe", "it is logged and exported, and nothing changes")
	}
	return s
}

func signalWords(a *config.Adaptive) string {
	switch {
	case a.Latency.Target > 0:
		return fmt.Sprintf("percentile %s of the answers takes longer than %s", number(a.Latency.Percentile), render.Duration(a.Latency.Target))
	case a.Errors > 0:
		return "more than " + percent(a.Errors) + " of the answers are 5xx"
	default:
		return fmt.Sprintf("more than %d requests are under way", a.InFlight)
	}
}

func number(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }

func percent(n float64) string { return number(100*n) + " %" }

// watchedInForce returns what is said of metrics, admin, log and tracing. A log as by default is told only beside
// other sections.
func watchedInForce(f *config.File) []render.SectionInForce {
	var all []render.SectionInForce
	if f.Metrics != nil {
		s := render.SectionInForce{Name: "metrics"}
		s.Add("served at", listenerWords(f.Metrics.Listen)+": /metrics, /healthz and /readyz")
		all = append(all, s)
	}
	if f.Admin != nil {
		all = append(all, adminInForce(f.Admin))
	}
	s := render.SectionInForce{Name: "log"}
	to := "standard error"
	if f.Log.File != "" {
		to = f.Log.File
	}
	s.Add("written", fmt.Sprintf("as %s, from level %s on, to %s", f.Log.Format, strings.ToLower(f.Log.Level.String()), to))
	if len(all) > 0 || f.Kernel != nil || f.Upstream != nil || f.Auth != nil || f.Log != (config.Log{Format: config.LogText}) {
		all = append(all, s)
	}
	if f.Tracing != nil {
		s := render.SectionInForce{Name: "tracing"}
		s.Add("sent to", fmt.Sprintf("%s: %s of the requests that carry no trace yet", f.Tracing.Endpoint, percent(f.Tracing.Ratio)))
		all = append(all, s)
	}
	return all
}

func adminInForce(a *config.Admin) render.SectionInForce {
	s := render.SectionInForce{Name: "admin"}
	if a.Socket != "" {
		s.Add("socket", a.Socket+accessWords(a.Access))
	}
	if a.Listen != nil {
		s.Add("served at", listenerWords(*a.Listen)+", for the token in "+a.TokenFile)
	}
	if a.Pprof {
		s.Add("pprof", "/debug/pprof on the socket")
	}
	return s
}
