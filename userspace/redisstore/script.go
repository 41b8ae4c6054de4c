package redisstore

import (
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

//go:embed lua
var files embed.FS

// kept is how long a place of concurrent is taken if nothing more is heard of who took it, and renewed how often it is said.
const (
	kept    = 30 * time.Second
	renewed = 10 * time.Second
	retried = time.Second // after a renewal that failed
)

// script is a script with its text, which tests change.
type script struct {
	*redisconn.Script
	source string
}

// scripts are all that are run.
type scripts struct{ one, take, giveBack, release, renew, forget script }

func newScripts() scripts {
	one, each := newScript("one"), newScript("each")
	one.Script = one.WithEach(each.source)
	return scripts{
		one: one, take: newScript("take"), giveBack: newScript("return"),
		release: newScript("release"), renew: newScript("renew"), forget: newScript("forget"),
	}
}

// newScript reads a script, and what all of them begin with.
func newScript(name string) script {
	var b strings.Builder
	fmt.Fprintf(&b, "local fields, pack = struct.unpack, struct.pack\nlocal WHOLE, LEASE = %d, %d\n",
		uint64(1)<<53, kept.Microseconds())
	assemble(&b, "clock", "")
	assemble(&b, name, "")
	source := b.String()
	return script{redisconn.NewScript(source), source}
}

// assemble writes a file. A line "--insert FILE" in it stands for that file: a function in its place would be made anew at each run, and
// cost as much as what it does.
func assemble(b *strings.Builder, name, indent string) {
	text, err := files.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	for line := range strings.Lines(string(text)) {
		code := strings.TrimLeft(line, " ")
		inner := indent + line[:len(line)-len(code)]
		switch other, is := strings.CutPrefix(code, "--insert "); {
		case is:
			assemble(b, strings.TrimSuffix(strings.TrimSpace(other), ".lua"), inner)
		case strings.HasPrefix(code, "--"): // a comment, which nobody reads there
		default:
			b.WriteString(indent + line)
		}
	}
}
