// Package nginxlab runs the real nginx in tests, on a clock that stands still until the test moves it.
//
// nginx is the one that is installed or, without installing anything, the one that apt downloads. It
// runs as a child process with a directory of its own and listens on a Unix socket. A preloaded
// library (clock.c) gives it the time, and its debug log tells what it decided.
// On other systems than Linux the package is empty.
package nginxlab
