package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal returns the two ends of a pseudo terminal: the user's and the program's.
func newTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return user, program
}

func termios(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}

// A key arrives without a return, and is not shown; afterwards the terminal is as it was.
func TestReadKeys(t *testing.T) {
	user, program := newTerminal(t)
	before := termios(t, program)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	keys, restore := readKeys(ctx, program)
	if echo := termios(t, program).Lflag & unix.ECHO; echo != 0 {
		t.Error("keys are shown")
	}
	for _, key := range []byte("xq") {
		if _, err := user.Write([]byte{key}); err != nil {
			t.Fatal(err)
		}
		if got := <-keys; got != key {
			t.Errorf("key %q, want %q", got, key)
		}
	}
	restore()
	if after := termios(t, program); after != before {
		t.Errorf("the terminal is %+v, was %+v", after, before)
	}
	// The reader that is left waiting ends with the terminal.
	user.Close()
	for range keys {
	}
}

// A live display on a terminal ends with q, the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	user, program := newTerminal(t)
	before := termios(t, program)
	c := newConsole()
	live := liveTop(t, c)
	c.stdin = program
	if _, err := user.Write([]byte("q\n")); err != nil { // typed ahead, in whatever mode it is then
		t.Fatal(err)
	}
	if err := live.run(t.Context(), &global{output: "table"}); err != nil {
		t.Fatal(err)
	}
	pictures(t, c.out.String())
	if after := termios(t, program); after != before {
		t.Errorf("the terminal is %+v, was %+v", after, before)
	}
}
