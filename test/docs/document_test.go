package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// root is the project's directory, seen from this package's.
const root = "../.."

// commandLimit is how long one command of a document may take before it counts as one that never
// ends.
const commandLimit = 30 * time.Second

// block is one console block of a document. A comment of the form
//
//	<!-- test: skip REASON -->
//	<!-- test: exit 1, output -->
//
//	<!-- test: agent examples/agent.yaml, like -->
//	<!-- test: server examples/server -c examples/login.yaml -->
//
// in the line before it says what is special: that it is not run, the exit code of its commands
// where that is not 0, and that what they print is compared with what the block shows, or that it has to
// be like it, which is the same but for numbers and spaces; that an agent runs by a file, which its commands see as
// headgate.yaml, until the document ends or names another; or that its commands are curl's, to an example that is
// started for the block.
type block struct {
	skip     string
	exit     int
	output   bool
	like     bool
	agent    string
	server   string
	commands []command
}

// command is one line with a prompt, and what the block shows below it.
type command struct {
	line  int    // in the document
	from  string // the prompt, if it is the address of a client
	text  string
	shows string
}

// prompt begins a command: of the machine, or of a client with an address.
var prompt = regexp.MustCompile(`^([0-9a-f:.]*)\$ `)

// usesHeadgate tells the lines that call headgate from those that call something else.
var usesHeadgate = regexp.MustCompile(`(^|\| )(sudo )?headgate `)

// blocks finds the console blocks of a document.
func blocks(text string) ([]block, error) {
	var found []block
	var current *block
	before := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case current == nil && strings.HasPrefix(line, "```console"):
			b, err := parseComment(before)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i, err)
			}
			current = &b
		case current == nil:
			before = line
		case line == "```":
			found = append(found, *current)
			current, before = nil, ""
		default:
			current.add(i+1, line)
		}
	}
	if current != nil {
		return nil, fmt.Errorf("a console block does not end")
	}
	return found, nil
}

func (b *block) add(number int, line string) {
	if match := prompt.FindStringSubmatch(line); match != nil {
		b.commands = append(b.commands, command{line: number, from: match[1], text: line[len(match[0]):]})
		return
	}
	if n := len(b.commands); n > 0 {
		b.commands[n-1].shows += line + "\n"
	}
}

// parseComment reads the comment before a block; any other line says nothing.
func parseComment(line string) (block, error) {
	var b block
	text, ok := strings.CutPrefix(line, "<!-- test: ")
	if !ok {
		return b, nil
	}
	text, ok = strings.CutSuffix(text, " -->")
	if !ok {
		return b, fmt.Errorf("%q: the comment does not end", line)
	}
	if reason, ok := strings.CutPrefix(text, "skip "); ok {
		b.skip = reason
		return b, nil
	}
	if server, ok := strings.CutPrefix(text, "server "); ok {
		b.server = server
		return b, nil
	}
	for word := range strings.SplitSeq(text, ", ") {
		if err := b.say(word); err != nil {
			return b, err
		}
	}
	return b, nil
}

// say reads one word of a comment.
func (b *block) say(word string) (err error) {
	file, isAgent := strings.CutPrefix(word, "agent ")
	switch {
	case word == "output":
		b.output = true
	case word == "like":
		b.like = true
	case isAgent:
		b.agent = file
	default:
		if _, err = fmt.Sscanf(word, "exit %d", &b.exit); err != nil {
			err = fmt.Errorf("%q: use skip REASON, server COMMAND, agent FILE, exit N, output or like", word)
		}
	}
	return err
}

// documents returns the paths of all that people read, from the project's directory.
func documents(tb testing.TB) []string {
	tb.Helper()
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "deploy/*/*.md", "examples/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			tb.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if !slices.Contains(paths, filepath.Join(root, "README.md")) {
		tb.Fatalf("no README.md among %v", paths)
	}
	return paths
}

func read(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func TestBlocks(t *testing.T) {
	text := "```console\n$ headgate version\nv1\n$ ls\n```\n" +
		"<!-- test: agent a.yaml, like -->\n```console\n203.0.113.7$ curl x\n429\n```\n" +
		"<!-- test: exit 1, output -->\n```console\n$ headgate x\n```\n" +
		"<!-- test: skip it never ends -->\n```console\n$ headgate events\n```\n" +
		"<!-- test: server examples/perip -->\n```console\n$ curl x\n```\n" +
		"```sh\n$ headgate y\n```\n"
	got, err := blocks(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []block{
		{commands: []command{{2, "", "headgate version", "v1\n"}, {4, "", "ls", ""}}},
		{agent: "a.yaml", like: true, commands: []command{{8, "203.0.113.7", "curl x", "429\n"}}},
		{exit: 1, output: true, commands: []command{{13, "", "headgate x", ""}}},
		{skip: "it never ends", commands: []command{{17, "", "headgate events", ""}}},
		{server: "examples/perip", commands: []command{{21, "", "curl x", ""}}},
	}
	if !slices.EqualFunc(got, want, equalBlocks) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, wrong := range []string{"```console\n$ x\n", "<!-- test: exit one -->\n```console\n```\n", "<!-- test: output\n```console\n```\n"} {
		if _, err := blocks(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}

func equalBlocks(a, b block) bool {
	same := slices.Equal(a.commands, b.commands)
	a.commands, b.commands = nil, nil
	return same && fmt.Sprint(a) == fmt.Sprint(b)
}
