// Package tracing makes OpenTelemetry spans of decisions.
//
// A span "headgate.decide" belongs to the trace whose W3C traceparent the request carries, if that says
// that the trace is recorded. For a share of the requests that carry none, a trace is begun, and
// the request gets its traceparent, so that what the backend records belongs to it. It works the same for
// all fronts, as it stands around the ruleset.Decider that they share, and sees the request's header.
//
// A span names the rule and the zone and tells what was decided. It has no address, path or key: traces are
// kept by others, and for longer.
package tracing
