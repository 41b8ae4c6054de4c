// Package ruleset decides about requests by the http section of the configuration: which rules
// apply, by which keys their zones count, and whether all of their limits let the request pass.
//
// # What is matched
//
// The rules are looked at in the order of the file. The first that matches decides; one with
// continue adds its limits and the rules behind it are looked at too. A rule without limits
// exempts what it matches. The limits of a request are asked in the order of the rules and, in a
// rule, of its list; [Decision.Limits] has them in that order.
//
// Hosts are compared as nginx's $host: in lower case, without the port and without a final dot.
// Paths are compared as nginx's $uri: percent-decoded (net/http does that), "//" taken for "/", "."
// and ".." resolved, a final slash kept, the query left off. So /./login, //login, /x/../login and
// /%6cogin are /login, because most servers take them for it, and whoever writes them must not get
// around a limit; /login/, /login;x=1 and /LOGIN are not. Methods are compared as they are, and HEAD is not GET.
//
// Not all servers resolve "..", in particular not where a slash beside it is written %2F: to http.ServeMux
// /api/x%2F..%2F..%2Fhealth is below /api/. So the rules are looked at once more for a path that has "..",
// with that left as it stands, and the request has the limits that it has by either reading.
//
// # Keys
//
// A key has a length before each of its parts, so that no two lists of parts have the same key.
// Host and path are as above, an ip is the client's address cut to its prefix. Of a header, cookie
// or query argument that occurs more than once, the first value counts that is not empty. Query
// arguments are decoded, and an escape that is none is taken as it stands; quotes around a cookie's
// value are left off. A limit is skipped if a header, cookie or argument of its key is absent or
// empty, as in nginx and pingora, or if the client's address is not known. A part longer than 256
// bytes is kept as its beginning and the SHA-256 of all of it: long keys neither fill the memory nor
// get around the limit.
//
// # All or none
//
// A request is charged to all limits or to none: what one refuses costs nothing in the others. A
// zone that several rules ask with one key is charged once, and lets the request pass if each of
// them does.
//
// A rule with dry_run delays nothing and refuses nothing. It is charged where the request passes and
// its own limits would let it, as in nginx. So if it is to take nothing from the limits of other
// rules, it needs a zone of its own.
//
// # Limits that machines share
//
// Zones of store redis are kept in a [shared.Store] by a [Live] that has a [Fleet]. The order in which the limits of a request are asked
// is then: those in memory, without a charge; those in the store, in one call that charges all or none; those in memory, with a
// charge. If the last refuses what the first allowed, the store gives back. So a request that memory refuses asks nobody,
// and no lock is held while the store is asked.
//
// Where the store does not answer, limiters of the same zones in memory stand in, whose limits are divided by the number of machines, or
// whatever else the rule says; see [Way].
package ruleset
