package redisconn

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func jobsOf(calls ...Call) (all []*job) {
	for _, c := range calls {
		all = append(all, newJob(c))
	}
	return all
}

// words returns what a command consists of.
func words(args []any) (all []string) {
	for _, a := range args {
		if p, is := a.(*string); is {
			a = *p
		}
		all = append(all, fmt.Sprint(a))
	}
	return all
}

// Calls of a script that does it for many share a run, where one server has all keys; others have one of their own.
func TestRuns(t *testing.T) {
	one, two, plain := NewScript("1").WithEach("1e"), NewScript("2").WithEach("2e"), NewScript("3")
	jobs := jobsOf(
		Call{one, []string{"a"}, []string{"x"}}, Call{plain, []string{"b"}, []string{"y"}}, Call{two, []string{"c"}, []string{"z"}},
		Call{one, []string{"d"}, []string{"u"}}, Call{one, []string{"e", "f"}, nil}, Call{plain, []string{"g"}, []string{"v"}},
		Call{one, []string{"a"}, []string{"w"}},
	)
	var got [][]string
	for _, r := range (client{joins: true}).runs(jobs) {
		got = append(got, words(r.command(true)))
	}
	want := [][]string{
		{"eval", "1e", "3", "a", "d", "a", "x", "u", "w"}, {"eval", "3", "1", "b", "y"}, {"eval", "2", "1", "c", "z"},
		{"eval", "1", "2", "e", "f"}, {"eval", "3", "1", "g", "v"},
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
	if first := words((client{joins: true}).runs(jobs)[0].command(false)); first[0] != "evalsha" || first[1] != one.each.sha {
		t.Errorf("%q", first)
	}
	if n := len((client{}).runs(jobs)); n != len(jobs) {
		t.Errorf("%d runs on a cluster, want %d", n, len(jobs))
	}
}

// Each call of a run gets its own reply; what is no list of as many strings is an error for those that it concerns.
func TestAnswersOfARun(t *testing.T) {
	s := NewScript("1").WithEach("1e")
	call := Call{s, []string{"a"}, []string{"x"}}
	fault := errors.New("fault")
	for _, c := range []struct {
		reply any
		err   error
		want  []string // "!" for nonsense, "-" for the fault
	}{
		{[]any{"1", "2"}, nil, []string{"1", "2"}},
		{[]any{"1", int64(2)}, nil, []string{"1", "!"}},
		{[]any{"1", nil}, nil, []string{"1", "!"}},
		{[]any{"1"}, nil, []string{"!", "!"}},
		{[]any{"1", "2", "3"}, nil, []string{"!", "!"}},
		{"12", nil, []string{"!", "!"}},
		{nil, nil, []string{"!", "!"}},
		{nil, fault, []string{"-", "-"}},
		{[]any{"1", "2"}, fault, []string{"-", "-"}},
	} {
		jobs := jobsOf(call, call)
		jobs[0].reply = "of before"
		run(jobs).answer(c.reply, c.err)
		for i, j := range jobs {
			got := j.reply
			switch {
			case errors.Is(j.err, errNonsense):
				got += "!"
			case errors.Is(j.err, fault):
				got += "-"
			case j.err != nil:
				t.Errorf("%v: %v", c.reply, j.err)
			}
			if got != c.want[i] {
				t.Errorf("%v, %v: job %d has %q, want %q", c.reply, c.err, i, got, c.want[i])
			}
		}
	}
	alone := jobsOf(call)
	if run(alone).answer([]any{"1"}, nil); !errors.Is(alone[0].err, errNonsense) {
		t.Errorf("one call that gets a list: %v", alone[0].err)
	}
}
