package redisconn

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
)

// Script is a Lua script that returns one string.
type Script struct {
	source, sha string
	each        *Script // does it for many; nil for none
}

// NewScript returns a script.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source)) // by which Redis knows scripts
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// WithEach returns a script that runs with one key and one argument, and that needs not be run for each call: source does for KEYS[i] and
// ARGV[i] what s does for its only ones, for each i, and returns a list of the replies. Where all keys are on one server, calls
// at the same time share a run, which costs the server less. What ends a run with an error ends it for all of them.
func (s *Script) WithEach(source string) *Script {
	return &Script{source: s.source, sha: s.sha, each: NewScript(source)}
}

// Call is a run of a script. Its slices may be used again when Do has returned, and as soon as Start has.
type Call struct {
	Script *Script
	Keys   []string // at least one; all in one slot of a cluster
	Args   []string
}

// job is a call on its way. The transport sets reply or err.
type job struct {
	script *Script
	text   []string // keys and arguments
	keys   int      // how many of text are keys
	reply  string
	err    error

	args []any // room for command
}

// command returns the arguments of EVALSHA, or where the server has not got the script, of EVAL.
func (j *job) command(whole bool) []any {
	j.args = appendRun(j.args[:0], j.script, j.keys, whole)
	for i := range j.text {
		j.args = append(j.args, &j.text[i]) // a pointer takes no memory in an interface
	}
	return j.args
}

// appendRun appends what runs a script, but for the keys and arguments.
func appendRun(args []any, s *Script, keys int, whole bool) []any {
	if whole {
		return append(args, "eval", &s.source, number(keys))
	}
	return append(args, "evalsha", &s.sha, number(keys))
}

// joins reports whether a run may be for j and others.
func (j *job) joins() bool { return j.script.each != nil && j.keys == 1 && len(j.text) == 2 }

// newJob returns one that has its own copy of a call.
func newJob(call Call) *job {
	j := &job{}
	j.set(call)
	return j
}

func (j *job) set(call Call) {
	j.script, j.keys = call.Script, len(call.Keys)
	j.text = append(append(j.text[:0], call.Keys...), call.Args...)
}

func number(n int) string {
	if n == 1 {
		return "1"
	}
	return strconv.Itoa(n)
}
