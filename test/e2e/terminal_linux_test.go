package e2e_test

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what is typed and what is shown.
type terminal struct {
	tb     testing.TB
	master *os.File
	slave  *os.File
	shown  transcript
}

func newTerminal(tb testing.TB) *terminal {
	tb.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		tb.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		tb.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 120}); err != nil {
		tb.Fatal(err)
	}
	t := &terminal{tb: tb, master: master, slave: slave}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&t.shown, master) // ends with an error when nobody has the slave open
	}()
	tb.Cleanup(func() {
		slave.Close()
		<-ended
		master.Close()
	})
	return t
}

// session makes the terminal the one of a command.
func (t *terminal) session(c *command) *command {
	c.Stdin, c.Stdout, c.Stderr = t.slave, t.slave, t.slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return c
}

func (t *terminal) press(keys string) {
	t.tb.Helper()
	if _, err := t.master.WriteString(keys); err != nil {
		t.tb.Fatal(err)
	}
}

func (t *terminal) settings() unix.Termios {
	t.tb.Helper()
	settings, err := unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.tb.Fatal(err)
	}
	return *settings
}
