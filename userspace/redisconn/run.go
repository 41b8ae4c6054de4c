package redisconn

import "fmt"

// run is one run of a script: for one job, or for some that may share it.
type run []*job

// runs returns the runs for jobs. Those that may share one do.
func (c client) runs(jobs []*job) []run {
	all := make([]run, 0, len(jobs))
	at := map[*Script]int{} // which of all is shared by jobs of a script
	for i, j := range jobs {
		if !c.joins || !j.joins() {
			all = append(all, run(jobs[i:i+1:i+1]))
			continue
		}
		n, begun := at[j.script]
		if !begun {
			n = len(all)
			at[j.script], all = n, append(all, nil)
		}
		all[n] = append(all[n], j)
	}
	return all
}

// command returns the arguments of the command.
func (r run) command(whole bool) []any {
	if len(r) == 1 {
		return r[0].command(whole)
	}
	args := appendRun(make([]any, 0, 3+2*len(r)), r[0].script.each, len(r), whole)
	for part := range 2 { // the keys, and then the arguments
		for _, j := range r {
			args = append(args, &j.text[part])
		}
	}
	return args
}

// answer gives each job its reply of what the run was answered.
func (r run) answer(reply any, err error) {
	replies := []any{reply}
	if err == nil && len(r) > 1 {
		list, is := reply.([]any)
		if !is || len(list) != len(r) {
			err = fmt.Errorf("%w: a %T where %d replies should be", errNonsense, reply, len(r))
		}
		replies = list
	}
	for i, j := range r {
		j.reply, j.err = "", err
		if err == nil {
			j.reply, j.err = text(replies[i])
		}
	}
}

// text returns a reply that is to be a string.
func text(reply any) (string, error) {
	s, is := reply.(string)
	if !is {
		return "", fmt.Errorf("%w: a %T where a string should be", errNonsense, reply)
	}
	return s, nil
}
