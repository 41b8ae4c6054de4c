//go:build !linux

package main

import "github.com/headgate/headgate/userspace/config"

// giveUpPrivileges does nothing: only Linux has capabilities.
func giveUpPrivileges(*config.File) error { return nil }
