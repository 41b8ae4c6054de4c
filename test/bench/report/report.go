// Package report turns the measurements of the benchmarks into figures, and those into a table,
// JSON, and a plot. It measures nothing itself, and runs everywhere.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"
)

// Host says where and when the run was.
type Host struct {
	Kernel string    `json:"kernel"`
	CPU    string    `json:"cpu"`
	CPUs   int       `json:"cpus"`
	Go     string    `json:"go"` // the compiler's version
	Time   time.Time `json:"time"`
}

// String returns where the run was, and the day.
func (h Host) String() string {
	return fmt.Sprintf("%s, %s, %s", h.Kernel, h.CPU, h.Time.Format(time.DateOnly))
}

func (h Host) write(w io.Writer) {
	fmt.Fprintf(w, "kernel  %s\n", h.Kernel)
	fmt.Fprintf(w, "CPU     %d x %s\n", h.CPUs, h.CPU)
	fmt.Fprintf(w, "Go      %s\n", h.Go)
	fmt.Fprintf(w, "date    %s\n", h.Time.Format(time.RFC3339))
}

func writeJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(report)
}

// width returns how many columns the longest of the rows' names takes, or least.
func width[T any](least int, rows []T, name func(T) string) int {
	for _, row := range rows {
		least = max(least, utf8.RuneCountInString(name(row)))
	}
	return least
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
