package config

import (
	"strconv"

	"github.com/headgate/headgate/userspace/rate"
)

func handDownFields() []Field {
	d := defaultHandDown()
	return []Field{
		{"after", "a number from 1 to 1M", strconv.Itoa(d.After), "how many offences"},
		{"within", "a time, 10s", formatDuration(d.Within), "in which time"},
		{"action", string(Block) + " or " + string(Limit), string(d.Action), "what the kernel does with the packets of the source"},
		{"rate", rateForm, "required with action limit, or bandwidth", "of action limit: as in a limit of the kernel"},
		{"burst", burstForm, "one second of the rate", "of action limit"},
		{"bandwidth", bandwidthForm, "required with action limit, or rate", "of action limit"},
		{"bandwidth_burst", bandwidthBurstForm, "one second of the bandwidth, 64KiB or more", "of action limit"},
		{"for", "a time, 1m", formatDuration(d.For), "how long the first rule of a source holds; each further one twice as long"},
		{"max", "a time, 24h, no less than for", formatDuration(d.Max), "how long at most"},
		{"ipv4_prefix", "a number from 8 to 32", strconv.Itoa(DefaultIPv4Prefix) + "; with action limit at most the kernel's", "how many bits of the offender's IPv4 address the rule is for"},
		{"ipv6_prefix", "a number from 16 to 128", strconv.Itoa(DefaultIPv6Prefix) + "; with action limit at most the kernel's", "how many bits of the offender's IPv6 address the rule is for"},
		{"max_rules", "a number from 1 to 1M", rate.FormatCount(uint64(d.MaxRules)), "how many of these rules hold at once"},
		{"dry_run", "true or false", "false", "true decides, logs and counts, and makes no rule"},
		{"private", "true or false", "false", "true is for private, loopback and link-local addresses too"},
		{"nginx_logs", "a list of paths, [/var/log/nginx/error.log]", "none", "error logs of nginx, whose refusals are offences too"},
	}
}

func adaptiveFields() []Field {
	d := defaultAdaptive()
	return []Field{
		{"observe", "true or false", "false", "true decides, logs and exports, and changes nothing"},
		{"interval", "a time, 1s", formatDuration(d.Interval), "how often is decided"},
		{"latency", "{percentile: 99, target: 200ms}", "one of latency, errors and in_flight is required", "too much is answers that take longer"},
		{"errors", "a share, 5% or 0.05", "one of latency, errors and in_flight is required", "too much is a larger share of 5xx among the answers"},
		{"in_flight", "a number from 1 to 1M", "one of latency, errors and in_flight is required", "too much is more requests under way at the servers"},
		{"floor", "a number from 0.001 to 1", formatNumber(d.Floor), "the least factor on the rates, of which 1 is as they are written"},
		{"ceiling", "a number from 1 to 100", formatNumber(d.Ceiling), "the greatest factor"},
		{"increase", "a number from 0.001 to 1", formatNumber(d.Increase), "what is added to the factor after an interval that is well"},
		{"decrease", "a number from 0.1 to 0.99", formatNumber(d.Decrease), "what the factor is multiplied with after one that is not"},
		{"recover", "a number from 0.1 to 1", formatNumber(d.Recover), "the part of the target below which an interval is well; between it and the target nothing changes"},
		{"scale", scaleKernel + ", " + scaleHTTP + ", or a list of both", "those that have rates", "which rates: the default limit of the kernel, and those of zones"},
	}
}

func latencyFields() []Field {
	return []Field{
		{"percentile", "a number from 1 to 100", formatNumber(defaultPercentile), "of the answers of an interval"},
		{"target", "a time, 200ms", required, "how long it may be"},
	}
}

func metricsFields() []Field {
	return []Field{
		{"listen", listenForm, required, "where /metrics, /healthz and /readyz are; as under listen, but for proxy_protocol"},
	}
}

func adminFields() []Field {
	return []Field{
		{"socket", "a path, /run/headgate/admin.sock", "required, or listen", "a unix socket; who may open it may do everything"},
		{"mode", "0600 or 0660", "0600", "who may open the socket, as of a file"},
		{"group", groupForm, "the agent's, or the directory's if that is setgid", "the socket's, as of a file; for mode 0660"},
		{"listen", `"127.0.0.1:9091", or {address: "127.0.0.1:9091", tls: {...}}`, "required, or socket", "an address of this machine; needs token_file"},
		{"token_file", fileForm, "required with listen", "its content is asked for as a bearer token"},
		{"pprof", "true or false", "false", "true serves /debug/pprof on the socket"},
	}
}

func logFields() []Field {
	return []Field{
		{"format", either(logFormats()), LogText, "how a line is written"},
		{"level", either(logLevels()), logLevels()[1], "the least level that is written"},
		{"file", fileForm, "standard error", "appended to, and opened again at SIGHUP"},
	}
}

func tracingFields() []Field {
	return []Field{
		{"endpoint", `a URL, "http://127.0.0.1:4318"`, required, "a collector that speaks OTLP over HTTP"},
		{"ratio", "a number from 0 to 1", formatNumber(defaultRatio), "the share of requests that are traced, of those that carry no trace yet"},
	}
}
