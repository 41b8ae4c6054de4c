// Package envoy answers Envoy's questions about requests: external authorization (ext_authz, service.auth.v3) and
// the rate limit service (RLS, service.ratelimit.v3), over gRPC, by the rules that all fronts share.
//
// # External authorization
//
// Envoy describes the whole request, so the decision and the answer are those of the reverse proxy: the rule's status, the
// body in the media type that the client accepts, and all header fields. The source address of the question is the TCP peer,
// and who asks is [ruleset.Request.Conn]. An address that is no socket address is taken for a peer on a unix socket.
//
// # Rate limit service
//
// Descriptors tell parts of a request, and the rules say which limits apply to it, as always:
//
//	remote_address                        the TCP peer
//	masked_remote_address                 the same, where there is no remote_address
//	path, :path                           path and query, as in a request line
//	method, :method                       the method
//	host, :host, authority, :authority    the host
//	any other key K                       the header field K
//
// So a zone with the key "header:user" counts by the descriptor entry "user", and a descriptor that lacks a part of a zone's
// key is not limited by it. Who reads "remote_address" off a header field does not say so, so that all of it is
// [ruleset.Request.Hearsay]: it leads to no rule in the kernel.
//
// All descriptors of a call together describe one request, which is charged to each of its limits once, and to all or
// none. Two descriptors that contradict each other, by different values of one key or by different hits, are two requests.
// These are first asked without being charged, and if one would be refused, only that one is asked again. If a request is refused
// only when it is charged, because others came in between or because the two share a limit that had room for one, those
// before it stay charged: never does more pass than a limit says.
//
// The hits of a descriptor, or else of the call, multiply what a request costs; without any it is one. A
// descriptor of no hits at all charges nothing, passes if a request of one would, and shows what that would leave. A
// descriptor of negative hits, which is to give back
// what was charged, changes nothing: what a bucket has forgotten meanwhile cannot be given back without
// letting too much pass. The limit that a descriptor brings is not looked at.
//
// Envoy answers a refusal with the status of its own configuration, 429 by default, as the protocol has no word for the
// rule's. Body and header fields are those of the proxy; the body is for the Accept field if a descriptor has an entry
// "accept". The statuses show, for each descriptor of a request, the limit that leaves least.
//
// # What is the same for both
//
// The answer to a delayed request waits, as long as Envoy does: its timeout must be above the longest delay. A slot
// of requests at a time is given back when the answer is sent, since Envoy does not tell when the response has
// ended: such zones only limit how many requests are delayed at once.
//
// Questions are read off the wire, and answers written to it, without messages of generated code in between. Fields that do not
// matter are not looked at, nor whether what is in them is valid.
//
// Who may ask is told by [Options.Gateways]. Others are refused before their question is read. A gateway with TLS needs a
// listener that offers h2.
package envoy
