// Package netlabtest has the parts of test/netlab in a form for tests: what
// fails ends the test, and what was made is closed when the test ends.
package netlabtest
