package redisconn

import (
	"bufio"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// TestFraming reads replies whole and byte by byte: those of a server are let pass, however many there are, and what would
// take more memory than a reply may is an error as soon as it is said.
func TestFraming(t *testing.T) {
	for _, one := range []struct {
		name, text string
		wrong      string // of the error; empty for none
	}{
		{name: "all kinds", text: "+OK\r\n-ERR no\r\n:12\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"},
		{name: "arrays", text: "*3\r\n*2\r\n:1\r\n*0\r\n$1\r\n\n\r\n*1\r\n*1\r\n+x\r\n+OK\r\n"},
		{name: "RESP3", text: "%2\r\n+a\r\n#t\r\n+b\r\n_\r\n~1\r\n,1.5\r\n>2\r\n=5\r\ntxt:a\r\n(12\r\n*1\r\n|1\r\n+a\r\n!1\r\nb\r\n:1\r\n%0\r\n"},
		{name: "many", text: strings.Repeat("$100000\r\n"+strings.Repeat("x", 100_000)+"\r\n", 2*mostReply/100_000)},
		{name: "the largest", text: "$16777216\r\n"},
		{name: "more", text: "$16777217\r\n", wrong: "length"},
		{name: "more than there is memory", text: "$200000000000000\r\n", wrong: "length"},
		{name: "more than a number", text: "*9999999999999999999\r\n", wrong: "length"},
		{name: "less than nothing", text: "$-2\r\n", wrong: "length"},
		{name: "no length", text: "$?\r\n", wrong: "length"},
		{name: "a length that does not end", text: "$" + strings.Repeat("0", 40), wrong: "no length"},
		{name: "many elements", text: "*2000000\r\n", wrong: "more than"},
		{name: "more than it may together", text: "*2\r\n$16777000\r\n" + strings.Repeat("x", 16_777_000) + "\r\n$1000\r\n", wrong: "more than"},
		{name: "a line that does not end", text: "+" + strings.Repeat("x", mostReply+1), wrong: "more than"},
		{name: "arrays without end", text: strings.Repeat("*1\r\n", deepest+1), wrong: "within"},
		{name: "another protocol", text: "@1\r\n", wrong: "begins no reply"},
		{name: "a text of another protocol", text: "=2000000000000\r\n", wrong: "length"},
		{name: "not Redis", text: "HTTP/1.1 400 Bad Request\r\n", wrong: "begins no reply"},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			f := newFraming()
			var err error
			for part := range slices.Chunk([]byte(one.text), size) {
				if err = f.read(part); err != nil {
					break
				}
			}
			switch {
			case one.wrong == "" && err != nil:
				t.Errorf("%s, by %d: %v", one.name, size, err)
			case one.wrong != "" && (err == nil || !errors.Is(err, errNonsense) || !strings.Contains(err.Error(), one.wrong)):
				t.Errorf("%s, by %d: %v, not %s", one.name, size, err, one.wrong)
			case one.name == "all kinds" || one.name == "arrays" || one.name == "RESP3" || one.name == "many":
				if f.kind != 0 || f.skip != 0 || len(f.open) != 0 || f.left != mostReply {
					t.Errorf("%s, by %d: something is open: %+v", one.name, size, f)
				}
			}
		}
	}
}

// TestTooLargeReply asks a server that claims to send more than there is memory. The library believes that, and the process
// would be no more.
func TestTooLargeReply(t *testing.T) {
	for _, reply := range []string{"$200000000000000\r\n", "*1000000000000\r\n", "*2147483647\r\n", "=2000000000000\r\n"} {
		c, err := Open(Options{Config: config.Redis{Addrs: []string{liar(t, reply)}, Prefix: "test", Timeout: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		got, err := c.DoPatiently(t.Context(), Call{Script: NewScript("return 'x'"), Keys: []string{"k"}}, time.Minute)
		if got != "" || !errors.Is(err, errNonsense) || !isFault(err) {
			t.Errorf("%q: %q, %v", reply, got, err)
		}
	}
}

// liar is a server that lets everybody in and answers scripts with a reply. It returns where.
func liar(t *testing.T, reply string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go lie(c, reply)
		}
	}()
	return l.Addr().String()
}

// lie answers until the other side has enough.
func lie(c net.Conn, reply string) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		answer := ""
		switch strings.ToLower(lines.Text()) {
		case "hello":
			answer = "-ERR unknown command 'HELLO'\r\n"
		case "evalsha", "eval":
			answer = reply
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}
