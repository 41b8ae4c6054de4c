//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "scale: needs Linux: it runs XDP programs")
	os.Exit(1)
}
