//go:build !linux

package loader

import (
	"fmt"
	"runtime"
	"time"

	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/eventmap"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/verifiedmap"
)

// Instance is an open instance; there are none on this system.
type Instance struct{}

// EventReader is the one reader of an instance's events.
type EventReader struct{ *eventmap.Reader }

func errNotLinux() error {
	return fmt.Errorf("%w: limiting packets in the kernel needs Linux, and this is %s",
		ErrUnsupported, runtime.GOOS)
}

// CheckPrivilege says that it needs Linux.
func CheckPrivilege() error { return errNotLinux() }

// Create says that it needs Linux, as all functions and methods here do.
func Create(Options) (*Instance, bool, error) { return nil, false, errNotLinux() }

// Open says that it needs Linux.
func Open(Options) (*Instance, error) { return nil, errNotLinux() }

// OpenToRead says that it needs Linux.
func OpenToRead(Options) (*Instance, error) { return nil, errNotLinux() }

// Remove says that it needs Linux.
func Remove(Options) error { return errNotLinux() }

// Lock says that it needs Linux.
func (*Instance) Lock(time.Duration) error { return errNotLinux() }

// Unlock does nothing.
func (*Instance) Unlock() error { return nil }

// Close does nothing.
func (*Instance) Close() error { return nil }

// Policies returns nil.
func (*Instance) Policies() *policymap.Map { return nil }

// Rules returns nil.
func (*Instance) Rules() *rulemap.Map { return nil }

// Buckets returns nil.
func (*Instance) Buckets() *bucketmap.Map { return nil }

// Heat returns nil.
func (*Instance) Heat() *heatmap.Map { return nil }

// Verified returns nil.
func (*Instance) Verified() *verifiedmap.Map { return nil }

// Stats says that it needs Linux.
func (*Instance) Stats() (statmap.Stats, error) { return statmap.Stats{}, errNotLinux() }

// Events says that it needs Linux.
func (*Instance) Events() (*EventReader, error) { return nil, errNotLinux() }

// Memory says that it needs Linux.
func (*Instance) Memory() ([]MapMemory, error) { return nil, errNotLinux() }

// Outdated says that it needs Linux.
func (*Instance) Outdated() (bool, error) { return false, errNotLinux() }

// Replaced returns false.
func (*Instance) Replaced() bool { return false }

// Same returns false.
func (*Instance) Same(*Instance) bool { return false }

// Upgrade says that it needs Linux.
func (*Instance) Upgrade() error { return errNotLinux() }

// Attach says that it needs Linux.
func (*Instance) Attach(string, Mode) (Attachment, bool, error) {
	return Attachment{}, false, errNotLinux()
}

// Find says that it needs Linux.
func (*Instance) Find([]string) ([]int, error) { return nil, errNotLinux() }

// Detach says that it needs Linux.
func (*Instance) Detach(int) error { return errNotLinux() }

// DetachPinned says that it needs Linux.
func (*Instance) DetachPinned(int) error { return errNotLinux() }

// RemoveAll says that it needs Linux.
func (*Instance) RemoveAll() error { return errNotLinux() }

// CheckInterfaces says that it needs Linux.
func CheckInterfaces([]string) ([]int, error) { return nil, errNotLinux() }

// CheckUnused says that it needs Linux.
func CheckUnused([]string) error { return errNotLinux() }

// CheckFree says that it needs Linux.
func (*Instance) CheckFree([]string) error { return errNotLinux() }

// Attachments says that it needs Linux.
func (*Instance) Attachments() ([]Attachment, error) { return nil, errNotLinux() }

// KernelRelease says that there is no kernel that could limit packets.
func KernelRelease() string { return "not Linux" }
