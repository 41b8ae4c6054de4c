package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// readCPU returns the model of the first processor in a file like /proc/cpuinfo. Where it has
// none, as on arm64, it is the architecture.
func readCPU(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the model of the CPU: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " "), nil
		}
	}
	return runtime.GOARCH, nil
}
