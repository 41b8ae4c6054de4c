//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "fleet: needs Linux: it starts and stops redis-server")
	os.Exit(1)
}
