//go:build !linux

package main

import "io"

// keyMode says that there are no keys: there is nothing to look at either.
func keyMode(io.Reader) (restore func(), ok bool) { return nil, false }
