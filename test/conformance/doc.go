// Package conformance is one suite of requests for every front that decides by the rules of package ruleset: whatever
// asks, and however it is told of a request, the decision and what the client is told have to be the same.
//
// A scenario is an http section and requests with the answers that are right. Run gives each front rules of its own and a
// clock that only the scenario moves. Fronts that need other modules or programs call Run from their own tests.
package conformance
