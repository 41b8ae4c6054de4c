package config

import (
	"strconv"

	"github.com/headgate/headgate/userspace/rate"
)

// storeForm is how an address of a Redis server is written.
const storeForm = `"127.0.0.1:6379"`

func redisFields() []Field {
	return []Field{
		{"addrs", `an address, "127.0.0.1:6379", or a list of these`, required, "the server; of mode sentinel the sentinels, of mode cluster some of its nodes"},
		{"mode", either(redisModes()), RedisSingle, "how the servers are run"},
		{"master", "a name, mymaster", "required with mode sentinel", "by which sentinels know the servers"},
		{"database", "a number from 0 to " + strconv.Itoa(mostDatabase), "0", "the number of the database; a cluster has only 0"},
		{"username", "a name", "the default user", "the user of an ACL; needs password_file"},
		{"password_file", fileForm, "no password", "its content is the password; read again at each connection"},
		{"sentinel_username", "a name", "the default user", "likewise, for the sentinels"},
		{"sentinel_password_file", fileForm, "no password", "likewise, for the sentinels"},
		{"tls", "{} or {ca: FILE}", "no TLS", "connections are encrypted, and servers known by their certificates"},
		{"prefix", "a name of letters, digits, dots, dashes and underscores", defaultPrefix, "what all keys and channels begin with; machines with another one are another fleet"},
		{"name", "a name of letters, digits, dots, dashes and underscores", "the host's name", "what this machine is called in the fleet"},
		{"timeout", "a time from 1ms to 1s, 20ms", formatDuration(DefaultRedisTimeout), "how long a request waits for an answer at most"},
		{"max_in_flight", "a number from 1 to " + rate.FormatCount(mostRedisInFlight), strconv.Itoa(DefaultRedisInFlight), "how many requests may wait for an answer; of more the limits do what on_store_failure says"},
	}
}

func redisTLSFields() []Field {
	return []Field{
		{"ca", fileForm, "those of the system", "the authorities whose certificates are believed, in PEM"},
		{"certificate", fileForm, "none", "the certificate of this machine, in PEM; needs key"},
		{"key", fileForm, "none", "its private key, in PEM"},
		{"server_name", "a name, redis.internal", "the host of the address", "the name that a server's certificate must have"},
	}
}

func fleetFields() []Field {
	return []Field{
		{"handdown", "true or false", "whether there is a handdown section", "true publishes sources that this machine hands down"},
		{"follow", "true or false", "true", "true puts rules of other machines in force here; needs kernel"},
		{"max_published", "a number from 1 to " + rate.FormatCount(mostPublished), strconv.Itoa(defaultPublished), "how many rules this machine may publish a minute"},
		{"max_rules", "a number from 1 to " + rate.FormatCount(mostFleetRules), rate.FormatCount(defaultFleetRules), "how many rules the fleet may have"},
	}
}
