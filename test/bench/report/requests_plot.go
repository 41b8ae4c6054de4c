package report

import (
	"fmt"
	"io"
)

// WriteSVG writes a plot of the ns per request of all subjects, for those rows that most
// resemble what a server gets: by Zipf's law, allowed, on as many CPUs as there are.
func (r *Requests) WriteSVG(w io.Writer) error {
	c := chart{
		name:     "ns per request by limiter",
		title:    "ns per request, allowed (minimum of all rounds)",
		subtitle: fmt.Sprintf("%s, %s", r.Host.Go, r.Host),
	}
	for _, row := range r.plotted() {
		c.rows = append(c.rows, chartRow{heading: true, label: fmt.Sprintf("%s, %s, %s",
			plural(row.Keys, "key"), row.Traffic, plural(row.CPUs, "CPU"))})
		for _, one := range row.Results {
			c.rows = append(c.rows, chartRow{label: one.Subject, value: one.Min, baseline: !one.Ours})
		}
	}
	return c.write(w)
}

func (r *Requests) plotted() []Row {
	cpus := 1
	for _, row := range r.Rows {
		cpus = max(cpus, row.CPUs)
	}
	var rows []Row
	for _, row := range r.Rows {
		if row.Path == Allowed && row.Traffic == Zipf && row.CPUs == cpus {
			rows = append(rows, row)
		}
	}
	return rows
}
