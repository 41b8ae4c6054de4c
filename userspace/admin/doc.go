// Package admin is the agent's administration: a JSON API over HTTP, its OpenAPI description, and a client.
//
// NewHandler serves it. On a unix socket the file's mode says who may ask, so there is no token. On a TCP listener,
// which must be one of loopback, a bearer token is asked for, and the request's Host has to be of loopback too: a
// page in a browser of this machine can neither read nor change anything, whatever its name resolves to.
//
// All operations stand in one table, of which both the routes and the description are made. A request is checked
// against it before anything is done: what is unknown, given twice or out of range is refused, and nothing of
// it was done then. Errors are problems in the form of RFC 9457, whose detail says what to do.
package admin
