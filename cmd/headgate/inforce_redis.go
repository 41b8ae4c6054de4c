package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
)

// redisInForce returns what is said of the servers where machines share limits. Who is let in by which password is not shown.
func redisInForce(r *config.Redis) render.SectionInForce {
	s := render.SectionInForce{Name: "redis"}
	s.Add("servers", serverWords(r))
	s.Add("known by", tlsWords(r.TLS))
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

func tlsWords(t *config.RedisTLS) string {
	switch {
	case t == nil:
		return "nothing: no TLS"
	case t.CA == "":
		return "certificates of the system's authorities"
	default:
		return "certificates of " + t.CA
	}
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
