//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "peers: needs Linux: it runs XDP programs")
	os.Exit(1)
}
