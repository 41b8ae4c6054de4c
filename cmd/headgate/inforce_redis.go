package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
)

// redisInForce returns what is said of the servers where machines share limits. Of passwords it names the files.
func redisInForce(r *config.Redis) render.SectionInForce {
	s := render.SectionInForce{Name: "redis"}
	s.Add("servers", serverWords(r))
	s.Add("user", userWords(r.Username, r.PasswordFile))
	if r.Mode == config.RedisSentinel {
		s.Add("of sentinels", userWords(r.SentinelUsername, r.SentinelPasswordFile))
	}
	s.Add("tls", tlsWords(r.TLS))
	s.Add("a request waits", fmt.Sprintf("%s at most; %d of them at a time", render.Duration(r.Timeout), r.MaxInFlight))
	s.Add("keys", "begin with "+r.Prefix)
	s.Add("this machine", cmp.Or(r.Name, "is called as its host is"))
	return s
}

func serverWords(r *config.Redis) string {
	addrs := strings.Join(r.Addrs, ", ")
	switch r.Mode {
	case config.RedisSentinel:
		return fmt.Sprintf("those that the sentinels %s know as %s, database %d", addrs, r.Master, r.Database)
	case config.RedisCluster:
		return "the cluster of " + addrs
	default:
		return fmt.Sprintf("%s, database %d", addrs, r.Database)
	}
}

func userWords(name, file string) string {
	user := cmp.Or(name, "the default one")
	if file == "" {
		return user + ", without a password"
	}
	return user + ", with the password in " + file
}

func tlsWords(t *config.RedisTLS) string {
	if t == nil {
		return "none: what is sent may be read on its way, and who answers at the address is believed"
	}
	text := "servers have certificates of the system's authorities"
	if t.CA != "" {
		text = "servers have certificates of " + t.CA
	}
	if t.Certificate != "" {
		text += "; this machine shows " + t.Certificate
	}
	return text
}

// fleetInForce returns what is said of the rules of the kernel that machines share.
func fleetInForce(f *config.Fleet) render.SectionInForce {
	s := render.SectionInForce{Name: "fleet"}
	published := "what people block and allow for the fleet"
	if f.HandDown {
		published += ", and what is handed down here"
	}
	s.Add("published", fmt.Sprintf("%s; %d rules a minute at most", published, f.MaxPublished))
	followed := "nothing: rules of others are not in force here"
	if f.Follow {
		followed = fmt.Sprintf("rules of other machines; the fleet has %d at most", f.MaxRules)
	}
	s.Add("followed", followed)
	return s
}
