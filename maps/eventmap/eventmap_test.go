package eventmap

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

func encode(t *testing.T, raw bpf.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, raw); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecode(t *testing.T) {
	words, family := wire.Addr(netip.MustParseAddr("2001:db8::1"))
	raw := bpf.Event{
		Time: 1, Suppressed: 2, Addr: words, Length: 3, Ifindex: 4, PolicyId: 5, Sport: wire.Port(6), Dport: wire.Port(7),
		Family: family, Proto: 8, Verdict: uint8(bpf.VerdictWouldDrop), Reason: uint8(bpf.ReasonBlocked),
	}
	want := Event{
		Time: 1, Suppressed: 2, Source: netip.MustParseAddr("2001:db8::1"), SourcePort: 6, DestPort: 7, Proto: 8,
		Length: 3, Ifindex: 4, PolicyID: 5, Verdict: bpf.VerdictWouldDrop, Reason: bpf.ReasonBlocked,
	}
	if got, err := decode(encode(t, raw)); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, err := decode(encode(t, bpf.Event{})); got != (Event{}) || err != nil {
		t.Errorf("%+v, %v; want the zero Event", got, err)
	}
}

// A shorter event is one of another version of the program.
func TestDecodeShort(t *testing.T) {
	whole := encode(t, bpf.Event{})
	for n := range len(whole) {
		if _, err := decode(whole[:n]); err == nil || !strings.Contains(err.Error(), "another version") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
