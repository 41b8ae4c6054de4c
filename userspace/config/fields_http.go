package config

import (
	"strconv"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/rate"
)

// upToUnits words a number of units, none of which would make no sense.
func upToUnits() string { return "a number from 1 to " + rate.FormatCount(maxUnits) }

func httpFields() []Field {
	return []Field{
		{"client_ip", "{header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8]}", "the peer's address", "whose address a request is charged to"},
		{"allow", "a list of addresses and prefixes, [192.0.2.0/24, 2001:db8::1]", "nobody", "clients that are never limited"},
		{"headers", either(headerStyles()), string(DefaultHeaders), "the header fields that tell clients their limit"},
		{"zones", "{NAME: {key: ip, rate: 10r/s}}", "none", "what requests are counted by, and how many may pass"},
		{"rules", "a list, [{limits: [{zone: NAME}]}]", "none", "which zones limit which requests; the first rule that matches decides"},
	}
}

func clientIPFields() []Field {
	return []Field{
		{"header", "X-Forwarded-For, Forwarded, X-Real-IP or another header field with one address", "none is believed", "where trusted proxies write the client's address"},
		{"trusted_proxies", "a list of addresses, prefixes and unix, [10.0.0.0/8, unix]", "nobody", "the peers that are believed, and the hops in the header that are passed over; unix is any peer on a unix socket"},
		{"hops", "a number from 1 to " + strconv.Itoa(clientip.MaxHops), "trusted_proxies decide", "how many proxies write into the header: the client is the value that many from the right"},
		{"ipv4_prefix", "a number from 1 to 32", strconv.Itoa(DefaultIPv4Prefix), "how many bits of an IPv4 address tell clients apart"},
		{"ipv6_prefix", "a number from 1 to 128", strconv.Itoa(DefaultIPv6Prefix), "how many bits of an IPv6 address tell clients apart"},
	}
}

func zoneFields() []Field {
	return []Field{
		{"key", either(keyForms()) + ", or a list of these", required, "what requests are counted by; a request without it is not limited by this zone"},
		{"rate", "10r/s, 30r/m or 100r/h", "required, or concurrent", "how many requests of one key may pass"},
		{"concurrent", upToUnits(), "required, or rate", "how many requests of one key may be under way at a time"},
		{"algorithm", either(algorithms()), string(Leaky), "how requests are counted"},
		{"max_keys", "a number from 1 to " + rate.FormatCount(maxKeys), rate.FormatCount(DefaultMaxKeys), "how many keys are remembered; of each length of window where overrides have others. With store redis: while Redis does not answer"},
		{"ipv4_prefix", "a number from 1 to 32", "that of client_ip", "how many bits of an IPv4 address the ip of the key has"},
		{"ipv6_prefix", "a number from 1 to 128", "that of client_ip", "how many bits of an IPv6 address the ip of the key has"},
		{"store", StoreMemory + " or " + StoreRedis, StoreMemory, "redis for one limit over all machines, for " + either(sharedAlgorithms()) + "; needs the section redis"},
		{"lease", "a number from 1 to " + rate.FormatCount(maxLease), "none", "with store redis and a rate: how many requests of a busy key a machine may take from the limit in advance; less than may come at one instant"},
		{"overrides", "a list, [{value: 192.0.2.7, rate: 100r/s}]", "none", "other limits for some values of the key, not for nginx; the first that matches decides"},
		{"allow", "a list of values of the key, [192.0.2.7]", "none", "values of the key that are not limited"},
	}
}

func overrideFields() []Field {
	return []Field{
		{"value", "a value of the zone's key, or a list with one for each part of the key", required, "which key; an address or prefix for an ip"},
		{"rate", "10r/s, 30r/m or 100r/h", "required in a zone with a rate", "how many of its requests may pass"},
		{"concurrent", upToUnits(), "required in a zone with concurrent", "how many of its requests may be under way at a time"},
	}
}

func ruleFields() []Field {
	return []Field{
		{"name", "a name of letters, digits, dots, dashes and underscores", `its number, "rule 3"`, "what the rule is called in answers, logs and metrics"},
		{"match", "{host: example.com, path: /login, method: [POST]}", "every request", "which requests the rule is for; all that is given must match"},
		{"limits", "a list, [{zone: NAME, burst: 20}], or [] for no limit", required, "the zones that limit these requests; a request must pass all and is charged to all or none"},
		{"status", "a number from 400 to 599", strconv.Itoa(DefaultStatus), "the status code of a rejection"},
		{"dry_run", "true or false", "false", "true counts and reports what would be refused or delayed, and lets it pass"},
		{"continue", "true or false", "false", "true looks at the rules below too"},
		{"on_store_failure", either(storeFailures()), string(FailLocal), "what limits of store redis do while Redis does not answer: local, each machine admits its part; open, they let all pass; closed, they refuse all, with status " + strconv.Itoa(DefaultFailStatus) + " unless status is given"},
	}
}

func matchFields() []Field {
	return []Field{
		{"host", `example.com, "*.example.com" or "~ REGEXP"`, "every host", "the host, without its port"},
		{"path", `/login, "/api/*" or "~ REGEXP"`, "every path", "the path, without the query"},
		{"method", "GET, or a list, [GET, HEAD]", "every method", "the method"},
	}
}

func useFields() []Field {
	return []Field{
		{"zone", "the name of a zone", required, "the zone"},
		{"burst", "a number up to " + rate.FormatCount(maxUnits), "0", "how many requests more than one may come at one instant; for leaky, nginx and sketch"},
		{"nodelay", "true or false", "false", "true lets the whole burst pass at once; otherwise it waits to leave at the rate"},
		{"delay", "a number up to burst", "0", "how many requests of the burst pass at once; those beyond wait to leave at the rate"},
		{"cost", upToUnits(), "1", "how many requests one counts as"},
	}
}
