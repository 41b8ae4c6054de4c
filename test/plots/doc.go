// Command plots draws what the algorithms of HTTP limits admit, for docs/http.md, and what the adaptive
// section does to a simulated backend. The requests, random ones included, and the clock are the same each
// time, and so are the pictures.
//
//	go run ./test/plots docs
//
// A test draws them anew and compares.
package main

//go:generate go run . ../../docs
