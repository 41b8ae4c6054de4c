// Package host tells on what machine a benchmark runs.
package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/headgate/headgate/test/bench/report"
)

// Read returns what the machine is. Where it has no /proc, as macOS, the kernel is the name of
// the system, and the CPU the architecture.
func Read() (report.Host, error) {
	cpu, err := readCPU("/proc/cpuinfo")
	if err != nil {
		return report.Host{}, err
	}
	kernel, err := readKernel("/proc/sys/kernel/osrelease")
	if err != nil {
		return report.Host{}, err
	}
	return report.Host{
		Kernel: kernel,
		CPU:    cpu,
		CPUs:   runtime.NumCPU(),
		Go:     runtime.Version(),
		Time:   time.Now().UTC().Truncate(time.Second),
	}, nil
}

func readKernel(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return runtime.GOOS, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the kernel's version: %w", err)
	}
	return "Linux " + strings.TrimSpace(string(text)), nil
}

// readCPU returns the model of the first processor in a file like /proc/cpuinfo. Where it has
// none, as on arm64, it is the architecture.
func readCPU(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return runtime.GOARCH, nil
	}
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
