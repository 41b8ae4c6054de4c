package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

const mebibyte = 1 << 20

// distinctName is the name of the line below the subjects.
const distinctName = "different keys used"

// WriteTable writes the report for people to read.
func (r *Requests) WriteTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.Host.write(b)
	fmt.Fprintf(b, "method  %d rounds, each of %s requests or more per limiter, keys of %d bytes\n",
		r.Rounds, thousands(r.Calls), r.KeyBytes)
	for _, rows := range r.sections() {
		writeSection(b, rows)
	}
	if r.Flood != nil {
		r.Flood.write(b)
	}
	r.writeLost(b)
	return b.Flush()
}

// sections returns the rows, those about the same keys and path together.
func (r *Requests) sections() [][]Row {
	var sections [][]Row
	for i, row := range r.Rows {
		if i == 0 || row.Keys != r.Rows[i-1].Keys || row.Path != r.Rows[i-1].Path {
			sections = append(sections, nil)
		}
		last := len(sections) - 1
		sections[last] = append(sections[last], row)
	}
	return sections
}

// writeSection writes rows with the same subjects as columns.
func writeSection(b *bufio.Writer, rows []Row) {
	first := rows[0]
	title := fmt.Sprintf("%s, %s", plural(first.Keys, "key"), first.Path)
	name := width(max(len(title), len(distinctName)), first.Results, func(one Result) string { return one.Subject })
	fmt.Fprintf(b, "\n%-*s", name, title)
	for _, row := range rows {
		fmt.Fprintf(b, "  %17s", fmt.Sprintf("%s, %s", row.Traffic, plural(row.CPUs, "CPU")))
	}
	fmt.Fprintf(b, "  %6s  %7s\n", "allocs", "bytes")
	fmt.Fprintf(b, "%-*s", name, "")
	for range rows {
		fmt.Fprintf(b, "  %9s %7s", "ns", "ratio")
	}
	fmt.Fprintf(b, "  %6s  %7s\n", "", "a key")
	for i := range first.Results {
		writeSubject(b, name, rows, i)
	}
	fmt.Fprintf(b, "%-*s", name, distinctName)
	for _, row := range rows {
		fmt.Fprintf(b, "  %17s", thousands(row.Distinct))
	}
	fmt.Fprintln(b)
}

func writeSubject(b *bufio.Writer, name int, rows []Row, i int) {
	one := rows[0].Results[i]
	fmt.Fprintf(b, "%-*s", name, one.Subject)
	var allocs float64
	for _, row := range rows {
		fmt.Fprintf(b, "  %9.1f %7.2f", row.Results[i].Min, row.Results[i].Ratio)
		allocs = max(allocs, row.Results[i].Allocs)
	}
	bytes := "-"
	if one.Bytes != nil {
		bytes = strconv.FormatFloat(*one.Bytes, 'f', 1, 64)
	}
	fmt.Fprintf(b, "  %6.2f  %7s\n", allocs, bytes)
}

func (f *Flood) write(b *bufio.Writer) {
	const title = "MiB, each request a new key"
	name := width(len(title), f.Results, func(one FloodResult) string { return one.Subject })
	fmt.Fprintf(b, "\n%-*s %10s %11s %9s %9s %9s %9s\n", name, title, "max keys", "keys", "none", "a tenth", "all", "ns")
	for _, one := range f.Results {
		limit := "-"
		if one.Bounded {
			limit = thousands(f.MaxKeys)
		}
		fmt.Fprintf(b, "%-*s %10s %11s %9.1f %9.1f %9.1f %9.1f\n", name, one.Subject, limit, thousands(one.Keys),
			one.Start/mebibyte, one.Tenth/mebibyte, one.End/mebibyte, one.NS)
	}
}

// writeLost says where others were faster.
func (r *Requests) writeLost(b *bufio.Writer) {
	lost := r.Lost()
	if len(lost) == 0 {
		fmt.Fprintf(b, "\nno other is faster than %s in any row of more than one key\n", r.Reference)
		return
	}
	fmt.Fprintf(b, "\nfaster than %s:\n", r.Reference)
	for _, row := range lost {
		fmt.Fprintf(b, "%s, %s, %s, %s: %s, ratio %.2f\n", plural(row.Keys, "key"), row.Path,
			row.Traffic, plural(row.CPUs, "CPU"), row.Results[0].Subject, row.Results[0].Ratio)
	}
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return thousands(n) + " " + unit + "s"
}

// thousands writes a number that is not negative as people do: 1,000,000.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
