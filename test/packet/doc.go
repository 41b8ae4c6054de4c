// Package packet builds network frames byte by byte for tests and for the
// demonstration lab, and finds the source address in a frame it is given.
//
// A frame is a list of layers, outermost first:
//
//	packet.Build(packet.Ethernet{}, packet.VLAN{ID: 7}, packet.IPv4{}, packet.UDP{Dst: 53}, packet.Zeros(20))
//
// Build fills in what the layers say about each other (EtherTypes, protocol
// numbers, lengths, checksums), so a frame without further settings is one
// that a real network stack accepts. Every such field has an override, a
// pointer that is nil unless set, so that a malformed frame is a valid frame
// plus one mutation:
//
//	packet.IPv4{IHL: new(uint8(4))}
//
// Addresses that are not set come from the documentation ranges of RFC 5737
// and RFC 3849. All functions are safe for concurrent use; those that write
// to a frame need that frame to themselves.
package packet
