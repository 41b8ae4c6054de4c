package loader

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

func TestPinNumber(t *testing.T) {
	for name, want := range map[string]int{
		"1": 1, "42": 42, "2147483647": 2147483647,
		"": 0, "0": 0, "-1": 0, "+1": 0, "007": 0, "1_0": 0, "1.5": 0, "0x1": 0, "eth0": 0, "2147483648": 0,
	} {
		if got, ok := pinNumber(name); ok != (want != 0) || ok && got != want {
			t.Errorf("%q: %d, %t; want %d", name, got, ok, want)
		}
	}
}

// TestForeignNames leaves alone what is not called as headgate would.
func TestForeignNames(t *testing.T) {
	i := create(t, small(t))
	for _, name := range []string{"-1", "007", "eth0"} {
		if err := pinProgram(i, filepath.Join(i.dir, linksDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := i.Attachments(); err != nil || len(all) != 0 {
		t.Errorf("attachments %+v, %v; want none", all, err)
	}
}

// moveAway moves an interface to a namespace where its number is taken.
func moveAway(t *testing.T, end *netlab.End) *netlab.End {
	t.Helper()
	moved := netlabtest.Move(t, end, netlabtest.Pair(t, netlab.PairOptions{FarName: "other0"}).Far.Namespace)
	if moved.Index == end.Index {
		t.Fatalf("%s has the number %d still", end.Name, end.Index)
	}
	return moved
}

func wantPins(t *testing.T, i *Instance, want ...string) {
	t.Helper()
	if got := names(t, filepath.Join(i.dir, linksDir)); !slices.Equal(got, want) {
		t.Errorf("pins %v, want %v", got, want)
	}
}

// addVeth makes an interface beside another one, with its peer elsewhere.
func addVeth(t *testing.T, beside *netlab.End, index int) *netlab.End {
	t.Helper()
	elsewhere := netlink.NsFd(netlabtest.Namespace(t).FD())
	added := &netlab.End{Namespace: beside.Namespace, Name: "added0", Index: index}
	in(t, added, func() error {
		attrs := netlink.LinkAttrs{Name: added.Name, Index: index}
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "peer0", PeerNamespace: elsewhere})
	})
	return added
}

// TestNumberChanges has an interface come back from another network namespace with a new number:
// everything knows it by that.
func TestNumberChanges(t *testing.T) {
	first := mortal(t)
	i := create(t, small(t))
	before := mustAttach(t, i, first, Auto)
	back := netlabtest.Move(t, moveAway(t, first), first.Namespace)
	if first.Index != 2 || back.Index != 3 {
		t.Fatalf("number %d, then %d; want 2 and 3", first.Index, back.Index)
	}
	want := before
	want.Index, want.Up = back.Index, false
	in(t, back, func() error {
		all, err := i.Attachments()
		if diff := cmp.Diff([]Attachment{want}, all); diff != "" {
			t.Errorf("attachments (-want +got):\n%s", diff)
		}
		found, err2 := i.Find([]string{back.Name})
		if !slices.Equal(found, []int{back.Index}) {
			t.Errorf("found %v, want %d", found, back.Index)
		}
		return errors.Join(err, err2, i.CheckFree([]string{back.Name}))
	})
	if err := upgrade(i, back); err != nil {
		t.Error(err)
	}
	if id := programOn(t, back); id == before.ProgramID || id == 0 {
		t.Errorf("program %d after an upgrade, it was %d", id, before.ProgramID)
	}
	wantPins(t, i, "2")
	if a, already, err := attachTo(t, i, back, Auto); err != nil || !already || a.Index != back.Index {
		t.Errorf("attached to %+v, already %t, %v", a, already, err)
	}
	wantPins(t, i, "3")
}

// TestDetachUnderOldPin detaches from an interface whose link is pinned under the number that it had
// before.
func TestDetachUnderOldPin(t *testing.T) {
	first := mortal(t)
	i := create(t, small(t))
	mustAttach(t, i, first, Auto)
	back := netlabtest.Move(t, moveAway(t, first), first.Namespace)
	in(t, back, func() error {
		if err := i.Detach(first.Index); !errors.Is(err, ErrNotAttached) {
			t.Errorf("by the old number: %v, want %v", err, ErrNotAttached)
		}
		return i.Detach(back.Index)
	})
	if id := programOn(t, back); id != 0 {
		t.Errorf("program %d is still attached", id)
	}
	wantPins(t, i)
}

// TestNumberTaken attaches to an interface that has the number that another one had, which is in
// another network namespace now.
func TestNumberTaken(t *testing.T) {
	first := mortal(t)
	i := create(t, small(t))
	mustAttach(t, i, first, Auto)
	away := moveAway(t, first)
	added := addVeth(t, first, first.Index)
	if a := mustAttach(t, i, added, Auto); a.Index != 2 || a.Name != added.Name {
		t.Errorf("attached to %+v", a)
	}
	wantPins(t, i, "2", "3")
	if programOn(t, away) == 0 || programOn(t, added) == 0 {
		t.Error("an interface has lost its program")
	}
}

// TestNumberClash has two interfaces of one number in different network namespaces with the same
// program, so that nobody can tell their links apart: nothing is detached by a guess.
func TestNumberClash(t *testing.T) {
	first := mortal(t)
	i := create(t, small(t))
	second := addVeth(t, first, 3)
	mustAttach(t, i, first, Auto)
	mustAttach(t, i, second, Auto)
	away := moveAway(t, first)
	if away.Index != second.Index {
		t.Fatalf("number %d, want that of the second interface, %d", away.Index, second.Index)
	}
	in(t, second, func() error {
		if err := i.Detach(second.Index); err == nil || !strings.Contains(err.Error(), "several attachments") {
			t.Errorf("detach: error %v, want one about several attachments", err)
		}
		if _, err := i.Find([]string{"3"}); err == nil || !strings.Contains(err.Error(), "several attachments") {
			t.Errorf("find: error %v, want one about several attachments", err)
		}
		all, err := i.Attachments()
		if len(all) != 2 || all[0].Name != second.Name || all[1].Name != "" {
			t.Errorf("attachments %+v, want one with a name and one without", all)
		}
		return errors.Join(err, i.CheckFree([]string{second.Name}))
	})
	if _, already, err := attachTo(t, i, second, Auto); err != nil || !already {
		t.Errorf("attach again: already %t, %v", already, err)
	}
	wantPins(t, i, "2", "3")
	if programOn(t, away) == 0 || programOn(t, second) == 0 {
		t.Error("an interface has lost its program")
	}
	back := netlabtest.Move(t, away, first.Namespace) // the clash is over, as 3 is taken here
	in(t, back, func() error { return i.Detach(back.Index) })
	if programOn(t, back) != 0 || programOn(t, second) == 0 {
		t.Error("detached from the wrong interface")
	}
}

// TestChoose never takes one for another.
func TestChoose(t *testing.T) {
	at := func(number, index int, name string) pinned {
		return pinned{number: number, Attachment: Attachment{Index: index, Name: name}}
	}
	gone := pinned{number: 5, Attachment: Attachment{Index: 5, Gone: true}}
	tests := []struct {
		name string
		pins []pinned
		want int // number of the pin; 0 for an error
	}{
		{"none", nil, 0},
		{"another number", []pinned{at(5, 6, "va")}, 0},
		{"here", []pinned{at(9, 5, "va")}, 9},
		{"elsewhere", []pinned{at(9, 5, "")}, 9},
		{"gone", []pinned{gone}, 5},
		{"elsewhere before gone", []pinned{gone, at(9, 5, "")}, 9},
		{"here before elsewhere", []pinned{at(5, 5, ""), at(9, 5, "va")}, 9},
		{"twice elsewhere", []pinned{at(5, 5, ""), at(9, 5, "")}, 0},
		{"twins", []pinned{at(5, 5, "va"), at(9, 5, "va")}, 0},
	}
	for _, tt := range tests {
		markTwins(tt.pins)
		p, err := choose(tt.pins, 5)
		if p.number != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("%s: pin %d, %v; want %d", tt.name, p.number, err, tt.want)
		}
	}
}

// TestRenumber moves pins in an order that makes room, and none over another.
func TestRenumber(t *testing.T) {
	i := &Instance{dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(i.dir, linksDir), 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(number, index int) pinned {
		return pinned{number: number, Attachment: Attachment{Index: index}}
	}
	pins := []pinned{at(2, 3), at(3, 4), at(5, 6), at(6, 5), at(7, 9), at(9, 9)}
	for _, p := range pins {
		if err := os.WriteFile(i.linkPath(p.number), []byte(strconv.Itoa(p.number)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.renumber(pins); err != nil {
		t.Fatal(err)
	}
	wantPins(t, i, "3", "4", "5", "6", "7", "9")
	for n, want := range []struct{ number, was int }{{3, 2}, {4, 3}, {5, 5}, {6, 6}, {7, 7}, {9, 9}} {
		was, err := os.ReadFile(i.linkPath(want.number))
		if pins[n].number != want.number || string(was) != strconv.Itoa(want.was) {
			t.Errorf("pin %d was %s, %v; want %d that was %d", pins[n].number, was, err, want.number, want.was)
		}
	}
}

// TestCheckNumber refuses what would be a second attachment of a number, or a second pin.
func TestCheckNumber(t *testing.T) {
	i := &Instance{dir: "/hg/v1"}
	pins := []pinned{
		{number: 2, Attachment: Attachment{Index: 3}},
		{number: 3, Attachment: Attachment{Index: 3}},
	}
	for index, want := range map[int]string{2: "is still that of interface 3", 3: "of another network namespace", 4: ""} {
		err := i.checkNumber(pins, index)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: error %v, want %q", index, err, want)
		}
	}
}

// TestFindAmbiguous does not find an interface elsewhere by a number that Detach would take for that
// of the one that is here.
func TestFindAmbiguous(t *testing.T) {
	const index = 1 << 30
	elsewhere := pinned{number: 5, Attachment: Attachment{Index: index, ProgramID: 1}}
	ours := pinned{number: 9, Attachment: Attachment{Index: index, ProgramID: 2, Name: "va"}}
	name := strconv.Itoa(index)
	if got, err := find([]pinned{elsewhere}, name); err != nil || got != index {
		t.Errorf("elsewhere: %d, %v; want %d", got, err, index)
	}
	if _, err := find([]pinned{ours}, name); !errors.Is(err, ErrNoInterface) {
		t.Errorf("here: %v, want %v", err, ErrNoInterface)
	}
	if _, err := find([]pinned{elsewhere, ours}, name); err == nil || !strings.Contains(err.Error(), "several attachments") {
		t.Errorf("both: %v, want an error about several attachments", err)
	}
}
