//go:build !linux

package main

// kernelRelease says that there is no kernel that could limit packets.
func kernelRelease() string { return "not Linux" }
