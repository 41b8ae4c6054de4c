//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "http: needs Linux: it makes network namespaces")
	os.Exit(1)
}
