// Package logging writes the agent's log: structured lines by log/slog, as text or JSON, to
// stderr or to a file that log rotation may take away.
//
// Logging never fails and never ends a request: a line that cannot be written, because the disk is full,
// is counted, and how many were lost is said in the first line that can be written again, and on stderr.
package logging
