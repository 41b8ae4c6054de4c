// Package httplimit limits the requests of a net/http server.
//
// New makes middleware of the rules of a configuration, PerIP of one rate, and Limit of any limiter of
// package keyed and a function that tells the key of a request.
//
// # What a response says
//
// Each response to a request that was limited tells the client what is left to it, in the family of header fields
// that Options.Headers names. Those of draft10 list every limit of the request once: of a zone that several
// rules use, the use that leaves least. The older families only have room for one, which is the one that
// leaves least. Limits that are tried out (dry_run) are not shown. The numbers are those of the moment
// when the request came, itself charged, and count units where a request costs several.
//
// The fields are set before the next handler is called, which may change them; the server sends them with
// 103 Early Hints too. What it adds, as httputil.ReverseProxy adds the fields of its backend, goes on the lists of
// draft10. In the other families it would be a second value: let the proxy's ModifyResponse delete those.
//
// All times are whole seconds, rounded up, until there is more: who waits that long is not refused for having
// come too early. A refused request is told Retry-After, at least 1, unless no waiting helps. Nothing
// else in that response names a later time.
//
// The body of a refusal is application/problem+json (RFC 9457), text/plain or text/html, by the request's
// Accept header; problem+json if that has no preference. No cache may store it (RFC 6585, section 4).
//
// # Delays
//
// A request that is delayed waits before the next handler is called, but no longer than its context
// lives, which net/http ends when the client leaves. What was charged stays charged, as in nginx. Over HTTP/1,
// net/http does not notice a leaving client before the body is read. So bodies of up to 16 KiB are read
// meanwhile; with a larger one, one of unknown length, one that the client holds back for a 100
// Continue or one that other middleware has wrapped, as http.MaxBytesHandler does, the request waits to the end.
//
// # Requests at a time
//
// A slot is occupied from the decision, a delay included, to the end of the response: until the next handler
// returns or panics. If it hijacks the connection, the slot is occupied until the connection that
// it got is closed, or found to be garbage without that.
package httplimit
