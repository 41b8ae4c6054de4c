package e2e_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wallClock is the date as one process has it. The machine's own clock is never touched: the process is started
// without the vDSO, so that it asks the kernel for the date, and a filter of its system calls (seccomp) has
// the kernel ask this test. All other clocks are as they are.
type wallClock struct {
	offset atomic.Int64  // to the machine's clock, in ns
	asked  atomic.Uint64 // how often
	fd     int           // where the kernel asks
}

// jump moves the date on, or back.
func (w *wallClock) jump(by time.Duration) { w.offset.Add(int64(by)) }

// startWithClock starts a command whose wall clock the test moves.
func (c *command) startWithClock() *wallClock {
	c.lab.tb.Helper()
	w := &wallClock{}
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true} // it stops before its first instruction
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: it ends with this goroutine, and the filter with it
		started <- w.start(c)
	}()
	if err := <-started; err != nil {
		c.lab.tb.Fatal(err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		w.answer()
	}()
	c.lab.tb.Cleanup(func() {
		c.kill()
		<-answered
		_ = unix.Close(w.fd)
	})
	return w
}

// start starts the command by a thread that has the filter, which the command inherits.
func (w *wallClock) start(c *command) (err error) {
	if w.fd, err = askForDate(); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	if err := c.lab.pair.Far.Namespace.Do(c.Start); err != nil {
		return err
	}
	pid := c.Process.Pid
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		return fmt.Errorf("wait for the process to stop: %w", err)
	}
	if err := hideVDSO(pid); err != nil {
		return fmt.Errorf("hide the vDSO: %w", err)
	}
	return syscall.PtraceDetach(pid)
}

// askForDate makes clock_gettime(CLOCK_REALTIME) of this thread, and of processes that it starts, a question that is read
// from a file.
func askForDate() (fd int, err error) {
	const (
		load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		number, argument = 0, 16 // where they are in struct seccomp_data, on a little-endian machine
	)
	filter := []unix.SockFilter{
		{Code: load, K: number},
		{Code: equal, K: unix.SYS_CLOCK_GETTIME, Jf: 3},
		{Code: load, K: argument},
		{Code: equal, K: unix.CLOCK_REALTIME, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

// hideVDSO takes the vDSO out of what the kernel tells a process that has just begun.
func hideVDSO(pid int) error {
	const ignore, sysinfoEHDR = 1, 33 // AT_IGNORE and AT_SYSINFO_EHDR of linux/auxvec.h
	stack, err := stackOf(pid)
	if err != nil {
		return err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	word := func(at int64) (uint64, error) {
		var b [8]byte
		_, err := memory.ReadAt(b[:], at)
		return binary.NativeEndian.Uint64(b[:]), err
	}
	// There are the number of arguments, the arguments, a 0, the environment, a 0, and then pairs.
	at, zeros := stack+8, 0
	for zeros < 2 {
		w, err := word(at)
		if err != nil {
			return err
		}
		if w == 0 {
			zeros++
		}
		at += 8
	}
	for ; ; at += 16 {
		switch kind, err := word(at); {
		case err != nil:
			return err
		case kind == sysinfoEHDR:
			_, err = memory.WriteAt(binary.NativeEndian.AppendUint64(nil, ignore), at)
			return err
		case kind == 0:
			return errors.New("there is none")
		}
	}
}

// stackOf returns where the stack of a process began.
func stackOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // of the second field, which may have anything in it
	const startStack = 28 - 3
	fields := strings.Fields(rest)
	if len(fields) <= startStack {
		return 0, fmt.Errorf("%d fields", len(fields))
	}
	return strconv.ParseInt(fields[startStack], 10, 64)
}

// answer answers until nobody is left who asks.
func (w *wallClock) answer() {
	for {
		polled := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if polled[0].Revents&unix.POLLIN != 0 {
			w.answerOne()
		} else if polled[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0 {
			return
		}
	}
}

// answerOne answers one question. One that is answered too late, as its thread has ended, is none any more.
func (w *wallClock) answerOne() {
	var question struct { // seccomp_notif of linux/seccomp.h
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		pointer    uint64
		args       [6]uint64
	}
	if !w.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&question)) {
		return
	}
	answer := struct { // seccomp_notif_resp
		id    uint64
		value int64
		error int32
		flags uint32
	}{id: question.id}
	if err := writeTime(question.pid, question.args[1], time.Now().Add(time.Duration(w.offset.Load()))); err != nil {
		answer.error = -int32(unix.EFAULT)
	}
	w.asked.Add(1)
	w.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
}

func (w *wallClock) ioctl(request uintptr, argument unsafe.Pointer) bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.fd), request, uintptr(argument))
	return errno == 0
}

// writeTime writes a struct timespec into the memory of a thread.
func writeTime(thread uint32, at uint64, t time.Time) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", thread), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	spec := binary.NativeEndian.AppendUint64(nil, uint64(t.Unix()))
	spec = binary.NativeEndian.AppendUint64(spec, uint64(t.Nanosecond()))
	_, err = memory.WriteAt(spec, int64(at))
	return err
}
