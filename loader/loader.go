// Package loader brings the XDP program into the kernel and keeps it there: it loads, attaches,
// pins, opens what is pinned, upgrades without a gap, and detaches.
//
// An instance is a directory on a bpf file system. It holds everything that the limiter consists
// of, so that it goes on without any process, and any process that may open the directory can
// read and change it:
//
//	DIR/                    locked by who changes something
//	DIR/v1/                 the layout's version
//	DIR/v1/<map>            a pin for each map of package bpf
//	DIR/v1/xdp_ratelimit    the program, and its variant for frames of several buffers
//	DIR/v1/config-<number>  the configurations, by the kernel's number of their map
//	DIR/v1/agent/<number>   a directory for each attachment of the agent's, by the number of its link
//	DIR/v1/links/<ifindex>  one for each interface, by the number it had when it was attached to, as
//	                        another network namespace may give it a new one; removing it detaches
//	DIR/tmp-*               what is being made or removed, or was when its command was killed
//
// DIR must belong to who uses it, or to root, and nobody else may write to it.
package loader

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/headgate/headgate/maps/heatmap"
)

// DefaultDir is where an instance is when nothing else is said.
const DefaultDir = "/sys/fs/bpf/headgate"

// Sizes of a new instance.
const (
	DefaultMaxSources = 1 << 20
	DefaultMaxRules   = 1 << 20
)

// Errors that a caller may want to tell apart.
var (
	ErrNotLoaded    = errors.New("no headgate instance")
	ErrOtherVersion = errors.New("an instance of another version")
	ErrIncompatible = errors.New("an instance of an incompatible build")
	ErrForeign      = errors.New("another XDP program is attached")
	ErrNoInterface  = errors.New("no such interface")
	ErrNotAttached  = errors.New("headgate is not attached")
	ErrLocked       = errors.New("another headgate command is at work")
	ErrPrivilege    = errors.New("not permitted")
	ErrUnsupported  = errors.New("not supported")
)

// Mode is how a program is attached.
type Mode uint8

// The modes.
const (
	Auto    Mode = iota // native, or generic where the driver cannot do that
	Native              // in the driver, before the kernel has made a packet of the frame
	Generic             // in the kernel's common receive path: any driver, but slower
)

var modeNames = [...]string{Auto: "auto", Native: "native", Generic: "generic"}

// String returns "auto", "native" or "generic".
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// ParseMode is the inverse of Mode.String.
func ParseMode(s string) (Mode, error) {
	if i := slices.Index(modeNames[:], s); i >= 0 {
		return Mode(i), nil
	}
	return 0, fmt.Errorf("mode %q: use auto, native or generic", s)
}

// Options say how to open or make an instance.
type Options struct {
	// Dir is the instance's directory, DefaultDir where empty. Below the standard mount point of
	// the bpf file system, that is mounted where it is not; elsewhere it must be there.
	Dir string

	// LockWait is how long to wait for another command to end. 0 does not wait.
	LockWait time.Duration

	// MaxSources and MaxRules are the sizes of a new instance, the defaults where 0. An instance
	// that exists keeps its own.
	MaxSources, MaxRules uint32

	// HeatMemory is the size of a new instance's heat table in bytes, heatmap.DefaultMemory where 0. It is
	// rounded down to one that there is. An instance that exists keeps its own.
	HeatMemory uint64

	// IPv6Prefix is the longest prefix that a new instance has to tell IPv6 sources apart by.
	IPv6Prefix int

	// Agent says that it is the agent that attaches: Attachment.Agent tells of which.
	Agent bool

	// Notice, where not nil, is told what was done that the user did not ask for.
	Notice func(string)
}

func (o *Options) withDefaults() Options {
	filled := *o
	if filled.Dir == "" {
		filled.Dir = DefaultDir
	}
	if abs, err := filepath.Abs(filled.Dir); err == nil {
		filled.Dir = abs
	}
	if filled.MaxSources == 0 {
		filled.MaxSources = DefaultMaxSources
	}
	if filled.MaxRules == 0 {
		filled.MaxRules = DefaultMaxRules
	}
	if filled.HeatMemory == 0 {
		filled.HeatMemory = heatmap.DefaultMemory
	}
	if filled.Notice == nil {
		filled.Notice = func(string) {}
	}
	return filled
}

// Attachment is one interface that an instance limits. Interfaces of several network namespaces may
// have the same number.
type Attachment struct {
	Name      string // "" where the interface is gone or in another network namespace
	Index     int    // its number now, or the last one known where it is gone
	Mode      Mode   // Native or Generic; Auto where it cannot be told
	Frags     bool   // the variant for frames of several buffers
	ProgramID uint32
	Up        bool
	Gone      bool // deleted; the kernel has detached the program
	Agent     bool // made with Options.Agent
}

// MapMemory is what the kernel charges for one map.
type MapMemory struct {
	Name       string
	MaxEntries int
	Bytes      uint64
}
