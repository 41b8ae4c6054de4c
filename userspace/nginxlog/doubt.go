package nginxlog

import "slices"

// longest is the length of the longest record, and the only two that one that is cut off has.
const (
	longest     = 4096 // OpenResty
	longestHere = 2048 // nginx
)

// doubt tells refusals that nginx wrote from those that a client did, by what is around them. See the
// documentation of the package.
type doubt struct {
	suspects []int64 // where records begin that the line to come may be a part of, in order
	tainted  int64   // lines before are not believed
	held     []held  // refusals about which it is not known yet
	found    func(record)
	doubtful func()
}

// held is a refusal that is believed if nothing speaks against it until the log is at clear.
type held struct {
	record record
	clear  int64
}

// add looks at a line from start to end, line break included.
func (d *doubt) add(line []byte, start, end int64) {
	d.forget(start)
	r := parse(line)
	switch r.kind {
	case wild:
		d.tainted = max(d.tainted, start+longest)
	case suspect:
		d.suspects = append(d.suspects, start)
	}
	evident := hasBreak(line)
	if evident || d.isCutOff(start, end) {
		d.taint()
	}
	if r.kind == refusal {
		d.judge(r, start)
	}
	if !r.nested {
		return
	}
	d.suspects = append(d.suspects, start)
	if evident {
		d.taint()
	}
}

// forget drops what has no bearing on lines from start on.
func (d *doubt) forget(start int64) {
	d.suspects = slices.DeleteFunc(d.suspects, func(at int64) bool { return at+longest <= start })
	n := 0
	for n < len(d.held) && d.held[n].clear <= start {
		d.found(d.held[n].record)
		n++
	}
	d.held = slices.Delete(d.held, 0, n)
}

// isCutOff reports whether lines that end at end, and are more than the one that begins at start, may
// be one record that is cut off.
func (d *doubt) isCutOff(start, end int64) bool {
	return slices.ContainsFunc(d.suspects, func(at int64) bool {
		return at < start && (end-at == longestHere || end-at == longest)
	})
}

// taint makes all doubtful that any suspect may have in it.
func (d *doubt) taint() {
	if len(d.suspects) == 0 {
		return
	}
	d.tainted = max(d.tainted, d.suspects[len(d.suspects)-1]+longest)
	d.drop()
}

// drop does not believe what was held.
func (d *doubt) drop() {
	for range d.held {
		d.doubtful()
	}
	d.held = d.held[:0]
}

// restart begins a new log.
func (d *doubt) restart() {
	d.drop()
	d.suspects, d.tainted = d.suspects[:0], 0
}

// judge believes a refusal that begins at start, or does not, or later.
func (d *doubt) judge(r record, start int64) {
	switch n := len(d.suspects); {
	case start < d.tainted:
		d.doubtful()
	case n > 0:
		r.zone = slices.Clone(r.zone)
		d.held = append(d.held, held{r, d.suspects[n-1] + longest})
	default:
		d.found(r)
	}
}

// quiet tells that the log has ended for a while, and not within a record: what was held is believed.
func (d *doubt) quiet() {
	for _, h := range d.held {
		d.found(h.record)
	}
	d.held = d.held[:0]
}
