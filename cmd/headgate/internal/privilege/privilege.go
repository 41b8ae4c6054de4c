// Package privilege gives up the capabilities that a process does not need, for good.
package privilege
