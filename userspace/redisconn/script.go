package redisconn

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
)

// Script is a Lua script that returns one string.
type Script struct{ source, sha string }

// NewScript returns a script.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source)) // by which Redis knows scripts
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
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
	name, script := "evalsha", &j.script.sha
	if whole {
		name, script = "eval", &j.script.source
	}
	j.args = append(j.args[:0], name, script, number(j.keys))
	for i := range j.text {
		j.args = append(j.args, &j.text[i]) // a pointer takes no memory in an interface
	}
	return j.args
}

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
