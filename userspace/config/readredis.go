package config

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultRedisPort is that of redis-server.
	defaultRedisPort = "6379"
	// longestRedisTimeout bounds what a store that is away costs a request.
	longestRedisTimeout = time.Second
	mostRedisInFlight   = 100_000
	// mostDatabase is far above what servers are set up with.
	mostDatabase  = 65535
	defaultPrefix = "headgate"
)

func redisModes() []string { return []string{RedisSingle, RedisSentinel, RedisCluster} }

func (w *whole) readRedis(v value) {
	m, ok := v.mappingOr(redisFields(), unknownOfRedis)
	if !ok {
		return
	}
	r := &Redis{
		Mode:         m.choice("mode", redisModes(), RedisSingle),
		Database:     int(m.count("database", 0, mostDatabase, 0)),
		Username:     m.text("username"),
		PasswordFile: m.filePath("password_file"),
		Master:       m.text("master"), SentinelUsername: m.text("sentinel_username"), SentinelPasswordFile: m.filePath("sentinel_password_file"),
		TLS:         m.redisTLS(),
		Prefix:      cmp.Or(m.plainName("prefix"), defaultPrefix),
		Name:        m.plainName("name"),
		Timeout:     m.duration("timeout", leastTime, longestRedisTimeout, DefaultRedisTimeout),
		MaxInFlight: int(m.count("max_in_flight", 1, mostRedisInFlight, DefaultRedisInFlight)),
	}
	w.Redis = r
	if a := m.field("addrs"); a.given() {
		r.Addrs = a.storeAddrs()
	} else {
		m.lack(v, `no addrs; add addrs: ["127.0.0.1:6379"]`)
	}
	m.checkMode(r)
	m.checkUsers()
}

// unknownOfRedis words that there is no such field. Files are read by more people than may know a password.
func unknownOfRedis(name string) string {
	switch name {
	case "password", "sentinel_password":
		return "a password in this file would be read by everybody who reads it; use " + name + "_file: FILE, with the password as its content"
	case "addr", "address", "host":
		return `unknown field; use addrs: ["127.0.0.1:6379"]`
	}
	return "unknown field " + choices(name, names(redisFields()))
}

// storeAddrs returns a list of addresses, each once.
func (v value) storeAddrs() []string {
	elements, ok := v.oneOrMore(storeForm)
	first := make(map[string]int)
	var all []string
	for _, e := range elements {
		address, right := e.storeAddr()
		if !ok || !right {
			continue
		}
		if line, twice := first[address]; twice {
			e.fail("the same server as in line %d; remove one", line)
			continue
		}
		first[address] = e.node.Line
		all = append(all, address)
	}
	return all
}

// storeAddr returns HOST:PORT. What is no such text may have a password in it, and is not repeated.
func (v value) storeAddr() (string, bool) {
	text, ok := v.text()
	if !ok {
		return "", false
	}
	host, portText, err := net.SplitHostPort(text)
	port, portErr := strconv.ParseUint(portText, 10, 16)
	odd := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("@/\\?#,", c) }
	switch {
	case strings.Contains(text, "://") || strings.Contains(text, "@"):
		v.fail("a URL; use its host and port only, as %s, and password_file for a password", storeForm)
	case strings.HasPrefix(text, "unix:") || strings.HasPrefix(text, "/"):
		v.fail("a unix socket is on this machine only, and no store for several; use HOST:PORT, as %s", storeForm)
	case err != nil && !strings.ContainsAny(text, ":[]") && !strings.ContainsFunc(text, odd):
		v.fail("%.60q: no port; use %.60s:%s", text, text, defaultRedisPort)
	case err != nil || host == "" || strings.ContainsFunc(host, odd):
		v.fail("%.60q is not HOST:PORT; use %s", text, storeForm)
	case portErr != nil || port == 0:
		v.fail("%.60q: the port is not 1 to 65535; use %s", text, net.JoinHostPort(host, defaultRedisPort))
	default:
		return net.JoinHostPort(host, strconv.FormatUint(port, 10)), true
	}
	return "", false
}

// plainName returns a text that zones may be called too: prefixes of keys have no braces, which would say what decides about
// the place of a key in a cluster.
func (m mapping) plainName(field string) string {
	v := m.field(field)
	if !v.given() {
		return ""
	}
	if name, ok := v.text(); ok && v.checkName(name) {
		return name
	}
	return ""
}

// redisTLS returns by what a server is known, nil for no TLS.
func (m mapping) redisTLS() *RedisTLS {
	v := m.field("tls")
	if !v.given() {
		return nil
	}
	t, ok := v.mapping(redisTLSFields())
	if !ok {
		return nil
	}
	for name, other := range map[string]string{"certificate": "key", "key": "certificate"} {
		if f := t.field(name); f.given() && !t.has(other) {
			t.lack(f, "a "+name+" without its "+other+"; add "+other+": FILE")
		}
	}
	return &RedisTLS{CA: t.filePath("ca"), Certificate: t.filePath("certificate"), Key: t.filePath("key"), ServerName: t.text("server_name")}
}

// checkMode looks for what does not go with the mode.
func (m mapping) checkMode(r *Redis) {
	if r.Mode == RedisSentinel {
		if !m.has("master") {
			m.lack(m.value, "no master; add master: NAME, by which the sentinels know the servers")
		}
	} else {
		for _, name := range []string{"master", "sentinel_username", "sentinel_password_file"} {
			if f := m.field(name); f.given() {
				f.fail("only sentinels are told of it; remove %s, or use mode: sentinel", name)
			}
		}
	}
	if r.Mode == RedisCluster && r.Database != 0 {
		m.field("database").fail("a cluster has database 0 only; remove database")
	}
	if r.Mode == RedisSingle && len(r.Addrs) > 1 {
		m.field("addrs").fail("%d servers, and mode single is for one; leave one, or use mode: cluster or mode: sentinel", len(r.Addrs))
	}
}

// checkUsers adds an error for a name that is never sent, as there is no password with it.
func (m mapping) checkUsers() {
	for _, name := range []string{"username", "sentinel_username"} {
		file := strings.TrimSuffix(name, "username") + "password_file"
		if u := m.field(name); u.given() && !m.has(file) {
			m.lack(u, "a user without a password; add "+file+": FILE, or remove "+name)
		}
	}
}

// checkClusters warns of zones that make a cluster as good as one of its nodes.
func (w *whole) checkClusters() {
	if w.Redis == nil || w.Redis.Mode != RedisCluster {
		return
	}
	for _, g := range w.HTTP.Groups() {
		if len(g.Zones) < 2 || slices.ContainsFunc(g.Parts, KeyPart.varies) {
			continue
		}
		var zones []string
		for _, i := range g.Zones {
			zones = append(zones, w.HTTP.Zones[i].Name)
		}
		w.root.field("http").warn("zones %s may limit the same request, and their keys have no part in common in which requests differ, so that all of their keys are on one node of the cluster; give them one, as ip",
			conjoined(zones))
	}
}

// varies reports whether requests differ in the part.
func (p KeyPart) varies() bool { return p.Kind != KeyConst }

// conjoined returns "a, b and c".
func conjoined(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
