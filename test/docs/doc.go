// Package docs has only tests: they run the command lines that the documentation shows, and check
// that what it refers to is there.
package docs
