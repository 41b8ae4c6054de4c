package packet

import (
	"encoding/binary"
	"slices"
)

// MinFrame is the length in bytes of the shortest Ethernet frame, without its
// frame check sequence (IEEE 802.3, 3.2.7).
const MinFrame = 60

// Layer is one header, or the payload, of a frame. The types of this package
// are the only implementations.
type Layer interface {
	// ids says how the layer in front names this one.
	ids() ids
	// encode returns this layer's header followed by body, the bytes of all
	// layers behind it.
	encode(body []byte, around around) []byte
}

// ids are the two names a layer can go by: in an Ethernet or VLAN header, and
// in an IPv4 or IPv6 header. A layer that cannot stand in one of the places
// has an experimental number there.
type ids struct {
	etherType uint16
	proto     uint8
}

// around is what a layer needs to know about its neighbours.
type around struct {
	next ids
	// pseudo is the start of the pseudo header of the innermost IP layer
	// in front: source, then destination. It is empty when there is none.
	pseudo []byte
	// jumbo tells an IPv6 layer that the real length is in a jumbo option.
	jumbo bool
}

// nothing stands for the layer behind the last one.
var nothing = ids{etherType: etherTypeExperimental, proto: protoNoNext}

// Build returns the frame made of the layers, outermost first. A layer list
// need not start with Ethernet: what comes out is then a bare packet.
//
// Lengths that do not fit in their field are written as 0, which is what Linux
// does for packets above 64 KiB. Build panics when an IPv4 layer is given an
// IPv6 address: this is a mistake in the calling code, never in its input.
func Build(layers ...Layer) []byte {
	var frame []byte
	for i, layer := range slices.Backward(layers) {
		frame = layer.encode(frame, surroundings(layers, i))
	}
	return frame
}

func surroundings(layers []Layer, i int) around {
	a := around{next: nothing, pseudo: pseudoBefore(layers[:i])}
	if i+1 < len(layers) {
		a.next = layers[i+1].ids()
		hop, ok := layers[i+1].(HopByHop)
		a.jumbo = ok && hop.Jumbo != 0
	}
	return a
}

func pseudoBefore(layers []Layer) []byte {
	for _, layer := range slices.Backward(layers) {
		switch ip := layer.(type) {
		case IPv4:
			return ip.addresses()
		case IPv6:
			return ip.addresses()
		}
	}
	return nil
}

// PadTo returns frame with zeros behind it up to n bytes. A frame that is long
// enough comes back as it is.
func PadTo(frame []byte, n int) []byte {
	if len(frame) >= n {
		return frame
	}
	return append(slices.Clip(frame), make([]byte, n-len(frame))...)
}

// override returns *set, or computed when set is nil.
func override[T any](set *T, computed T) T {
	if set != nil {
		return *set
	}
	return computed
}

// length16 is n in a 16 bit length field, 0 when it does not fit.
func length16(n int) uint16 {
	if n > 0xffff {
		return 0
	}
	return uint16(n)
}

func put16(b []byte, v uint16) { binary.BigEndian.PutUint16(b, v) }
func put32(b []byte, v uint32) { binary.BigEndian.PutUint32(b, v) }
func get16(b []byte) uint16    { return binary.BigEndian.Uint16(b) }
