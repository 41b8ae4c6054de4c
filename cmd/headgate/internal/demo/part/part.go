// Package part has those who play in the demo's second act, each as a process of its own: clients of the proxy, and the
// backend behind it. A process is told what to do on its standard input, a line for each order, and tells on its
// standard output what it saw, a JSON object on each line. It ends with its input, so that none outlives the
// demo.
package part

import "net/netip"

// The parts, as Play takes them.
const (
	Flooder = "flooder"
	Visitor = "visitor"
	Backend = "backend"
)

// The orders. A client begins, and stops when it is told to or at a time of the boot clock in ns, if that
// follows; then it is done and may begin again. A backend tells what it counted.
const (
	Begin = "begin"
	Stop  = "stop"
	Count = "count"
)

// Script is what somebody who plays has to know.
type Script struct {
	From   netip.Addr     `json:"from"`   // a client's address
	Server netip.AddrPort `json:"server"` // where the proxy is, or the backend
	Limit  Limit          `json:"limit"`  // of each client
}

// Limit is what responses must say of the limit.
type Limit struct {
	Zone   string `json:"zone"`
	Quota  int    `json:"quota"`  // requests
	Window int    `json:"window"` // seconds
}

// Seen is what a client saw in a window of time: requests, which were decided about in it, or knocks. The window is
// in ns of the boot clock. Nothing of it is uncertain: a request whose bytes the server's end has acknowledged is waited
// for, and one that was sent twice and not acknowledged has not arrived.
type Seen struct {
	Start   int64 `json:"start"`
	End     int64 `json:"end"`
	Passed  int   `json:"passed,omitempty"`  // answered with 200
	Refused int   `json:"refused,omitempty"` // answered with 429
	Cut     int   `json:"cut,omitempty"`     // requests on open connections that did not arrive
	CutSent int64 `json:"cut_sent,omitempty"`
	// Knocks are connections that were asked for with one packet, and Entered those that came about.
	Knocks  int `json:"knocks,omitempty"`
	Entered int `json:"entered,omitempty"`
	// Wrong is what is wrong with answers, in words.
	Wrong []string `json:"wrong,omitempty"`
	// Took is how long a visitor's request took with its connection, in ns.
	Took int64 `json:"took,omitempty"`
	// Done says that a client has stopped.
	Done bool `json:"done,omitempty"`
}

// Counted is what the backend counted, by the client that the proxy names. It is told at the beginning too: then the
// backend listens.
type Counted map[string]int
