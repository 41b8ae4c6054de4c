// Package thread runs functions in threads of their own, on a CPU that the caller chooses, and tells what CPU time they take.
package thread
