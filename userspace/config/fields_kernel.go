package config

import "strconv"

const (
	rateForm           = "500pps, 10kpps, 30ppm or 6pph"
	burstForm          = "a number of packets, 100 or 20k"
	bandwidthForm      = "100Mbit/s, 12MB/s or 64KiB/s"
	bandwidthBurstForm = "a size, 64KiB or 1MB"
	prefixForm         = "192.0.2.7, 192.0.2.0/24 or 2001:db8::/32"
	fileForm           = "a path, absolute or from the file's directory"
	overflowMeaning    = "what becomes of packets of a source near its limit while there is no bucket for it: by an estimate, which may be too strict, or all of them pass, or none"
	dryRunMeaning      = "true counts what would be dropped, and drops nothing"
)

func kernelFields() []Field {
	return []Field{
		{"interfaces", "a list of names, [eth0]", required, "the network interfaces whose incoming packets are limited; one that is not there yet is limited when it comes"},
		{"mode", either(modes()), ModeAuto, "native is in the driver, generic works with any and is slower, auto takes native where the driver has it"},
		{"ipv4_prefix", "a number from 0 to 32", strconv.Itoa(DefaultIPv4Prefix), "how many bits of an IPv4 address make a source"},
		{"ipv6_prefix", "a number from 0 to 128", strconv.Itoa(DefaultIPv6Prefix), "how many bits of an IPv6 address make a source; link-local ones are never cut"},
		{"overflow", either(Overflows()), OverflowEstimate, overflowMeaning + "; for the default limit, and policies that do not say"},
		{"dry_run", "true or false", "false", dryRunMeaning},
		{"verified_for", "a time, 10m or 1h", "10m", "for how long a client is verified whose HTTP request was allowed, for policies with unverified; 0 for never"},
		{"max_sources", "a number from 1 to 100M", "1048576", "how many sources a new instance keeps at once"},
		{"max_rules", "a number from 1 to 100M", "1048576", "how many prefixes of each family a new instance has room for"},
		{"heat_memory", "a size from 16KiB to 1GiB", "by the limits, 1MiB to 64MiB", "how much a new instance has for sources that are far from their limit, and so for a flood from made-up addresses; `status` says up to which"},
		{"default", "{rate: 10kpps, burst: 20k, bandwidth: 100Mbit/s}", "packets are only counted", "what each source may send"},
		{"policies", "a list, [{name: dns, proto: udp, port: 53, rate: 50pps}]", "none", "limits for some packets, beside the default one; up to 7"},
		{"rules", "a list, [{prefix: 192.0.2.0/24, block: true}]", "none", "what is said of addresses and prefixes; the longest that contains the source decides"},
		{"rule_files", "a list, [{file: blocked.txt, block: true}]", "none", "files of prefixes, each with one rule for all of its own"},
	}
}

func limitFields() []Field {
	return []Field{
		{"rate", rateForm, "required, or bandwidth", "packets a second, minute or hour"},
		{"burst", burstForm, "one second of the rate", "how many packets of an idle source pass at once"},
		{"bandwidth", bandwidthForm, "required, or rate", "bits or bytes a second, of IP packets"},
		{"bandwidth_burst", bandwidthBurstForm, "one second of the bandwidth, 64KiB or more", "how many bytes of an idle source pass at once"},
	}
}

func policyFields() []Field {
	return append([]Field{
		{"name", "a name of up to 31 of a-z, 0-9, - and _", required, "what the policy is called"},
		{"proto", "tcp, udp, icmp, icmpv6 or a number up to 255", "every protocol", "the IP protocol"},
		{"port", "a port, 53, or a range, 1000-2000", "every packet, also without ports", "the destination port; a fragment that is not the first has none"},
		{"syn", "true or false", "false", "true is for packets only that open a TCP connection"},
		{"unverified", "true or false", "false", "true is for packets only of sources that are not verified, nor have a limit in rules"},
		{"key", either(policyKeys()), keySource, "source is a bucket for each source, shared is one for all that match"},
		{"overflow", either(Overflows()), "kernel.overflow", overflowMeaning},
		{"dry_run", "true or false", "false", dryRunMeaning},
	}, limitFields()...)
}

func prefixRuleFields() []Field {
	return append([]Field{
		{"prefix", prefixForm + ", or a list of these", required, "whose packets the rule is for"},
	}, rulingFields()...)
}

func ruleFileFields() []Field {
	return append([]Field{
		{"file", fileForm, required, "a prefix a line; # begins a comment"},
	}, rulingFields()...)
}

// rulingFields are what a rule says of prefixes.
func rulingFields() []Field {
	return []Field{
		{"limit", "{rate: 100pps, bandwidth: 1Mbit/s}", "one of limit, allow and block is required", "each source has this limit, in the place of the default one; not for parts of a source"},
		{"allow", "true", "one of limit, allow and block is required", "all passes, whatever policies say"},
		{"block", "true", "one of limit, allow and block is required", "all is dropped"},
		{"policy", "the name of a policy", policyDefault, "whose limit the limit takes the place of"},
	}
}
