package bpf_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/statmap"
)

// header returns the text of a C header.
func header(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("include", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// macro returns the value of a macro that is a number or a shifted one.
func macro(t *testing.T, text, name string) uint64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^#define ` + name + `\s+(.*?)(?:\s*/\*.*)?$`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no macro %s", name)
	}
	expression := strings.NewReplacer("(", "", ")", "", "ULL", "").Replace(found[1])
	if expression == "~0" {
		return ^uint64(0)
	}
	left, right, shifted := strings.Cut(expression, " << ")
	value, err := strconv.ParseUint(left, 10, 64)
	if err != nil {
		t.Fatalf("macro %s: %v", name, err)
	}
	if shifted {
		by, err := strconv.ParseUint(right, 10, 6)
		if err != nil {
			t.Fatalf("macro %s: %v", name, err)
		}
		value <<= by
	}
	return value
}

// The constants that Go repeats are those of C.
func TestConstantsEqualMacros(t *testing.T) {
	abi := header(t, "abi.h")
	for name, got := range map[string]uint64{
		"MAX_POLICIES":     uint64(bpf.MaxPolicies),
		"NAME_LEN":         uint64(bpf.NameLen),
		"LOSS_SLOTS":       bpf.LossSlots,
		"SALT_LEN":         uint64(bpf.SaltLen),
		"FOREVER":          bpf.Forever,
		"CLOCK_SLACK_NS":   bpf.ClockSlackNs,
		"SHIFT_BITS":       bpf.ShiftBits,
		"RECENT_BITS":      bpf.RecentBits,
		"POLICY_ID_BITS":   bpf.PolicyIDBits,
		"BUCKET_KEY_SHORT": bpf.BucketKeyShort,
		"POLICY_SHARED":    bpf.PolicyShared,
		"POLICY_PROTO":     bpf.PolicyProto,
		"POLICY_PORTS":     bpf.PolicyPorts,
		"POLICY_SYN":       bpf.PolicySyn,
		"POLICY_CONFIG":    bpf.PolicyConfig,
		"CONFIG_DRY_RUN":   bpf.ConfigDryRun,
		"CONFIG_CURRENT":   bpf.ConfigCurrent,
		"CONFIG_FALLBACK":  bpf.ConfigFallback,
	} {
		if want := macro(t, abi, name); got != want {
			t.Errorf("%s is %d in Go and %d in C", name, got, want)
		}
	}
}

// Every flag that C knows is in the list above; a new one must be named in Go.
func TestNoFlagIsMissing(t *testing.T) {
	flags := regexp.MustCompile(`(?m)^#define (POLICY|CONFIG)_\w+ +\(1 << `).FindAllString(header(t, "abi.h"), -1)
	if len(flags) != 6 {
		t.Errorf("%d flags in C, and 6 are compared: %q", len(flags), flags)
	}
}

func TestEveryReasonAndVerdictHasAName(t *testing.T) {
	var names []string
	for r := range bpf.ReasonLen {
		names = append(names, statmap.ReasonName(r))
	}
	for v := range bpf.VerdictLen {
		names = append(names, statmap.VerdictName(v))
	}
	slices.Sort(names)
	if names[0] == "" || len(slices.Compact(names)) != int(bpf.ReasonLen)+int(bpf.VerdictLen) {
		t.Errorf("names are missing or used twice: %q", names)
	}
	if got := len(statmap.Reasons()); got != int(bpf.ReasonLen) {
		t.Errorf("%d reasons are shown, want %d", got, bpf.ReasonLen)
	}
	// In C, a reason is called what it is called to people.
	text := header(t, "abi.h")
	for r := range bpf.ReasonLen {
		if name := "REASON_" + strings.ToUpper(statmap.ReasonName(r)); !strings.Contains(text, name+",") {
			t.Errorf("reason %d is %s in Go, and C has no %s", r, statmap.ReasonName(r), name)
		}
	}
}

// Go's types have the sizes of C's, by the type information in the object.
func TestSizes(t *testing.T) {
	spec, err := bpf.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]struct{ key, value uintptr }{
		bpf.MapBuckets:       {unsafe.Sizeof(bpf.BucketKey{}), unsafe.Sizeof(bpf.Bucket{})},
		bpf.MapSharedBuckets: {4, unsafe.Sizeof(bpf.Bucket{})},
		bpf.MapCounters:      {4, unsafe.Sizeof(bpf.Counters{})},
		bpf.MapGlobals:       {4, unsafe.Sizeof(bpf.Global{})},
		bpf.MapLosses:        {4, unsafe.Sizeof(bpf.Loss{})},
		bpf.MapRules4:        {unsafe.Sizeof(bpf.Prefix4{}), unsafe.Sizeof(bpf.Rule{})},
		bpf.MapRules6:        {unsafe.Sizeof(bpf.Prefix6{}), unsafe.Sizeof(bpf.Rule{})},
	} {
		m := spec.Maps[name]
		if uintptr(m.KeySize) != size.key || uintptr(m.ValueSize) != size.value {
			t.Errorf("%s: %d and %d bytes in C, %d and %d in Go", name, m.KeySize, m.ValueSize, size.key, size.value)
		}
	}
	if inner := spec.Maps[bpf.MapConfigs].InnerMap; uintptr(inner.ValueSize) != unsafe.Sizeof(bpf.Config{}) {
		t.Errorf("a configuration has %d bytes in C, %d in Go", inner.ValueSize, unsafe.Sizeof(bpf.Config{}))
	}
	// A short key has the policy and the first half of an IPv6 address.
	if got := unsafe.Offsetof(bpf.BucketKey{}.Addr) + 8; got != bpf.BucketKeyShort {
		t.Errorf("half an address ends at byte %d of a key, want %d", got, bpf.BucketKeyShort)
	}
	if got := binary.Size(bpf.Event{}); got != 56 {
		t.Errorf("an event has %d bytes, want 56", got)
	}
}

// Every map outlives the program, but for those of its variables.
func TestPinnedMapsAreAll(t *testing.T) {
	spec, err := bpf.Load()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, m := range spec.Maps {
		if !strings.HasPrefix(name, ".") {
			names = append(names, name)
			if m.Pinning != ebpf.PinNone {
				t.Errorf("%s pins itself; where is for the loader to say", name)
			}
		}
	}
	slices.Sort(names)
	if want := slices.Sorted(slices.Values(bpf.PinnedMaps())); !slices.Equal(names, want) {
		t.Errorf("maps %q, want %q", names, want)
	}
}
