// Command plots draws what the algorithms of HTTP limits admit, for docs/http.md. It sends the same
// requests to each, on a clock of its own, so that the pictures are the same each time.
//
//	go run ./test/plots docs
//
// A test draws them anew and compares.
package main

//go:generate go run . ../../docs
