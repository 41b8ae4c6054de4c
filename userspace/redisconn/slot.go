package redisconn

import "strings"

// slot returns the slot of a cluster that a key is in: CRC-16/XMODEM of what is between its first { and the next }, or if
// there is nothing of the whole key.
func slot(key string) uint16 {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if n := strings.IndexByte(key[i+1:], '}'); n > 0 {
			key = key[i+1 : i+1+n]
		}
	}
	return crc16(key) % slots
}

// crc16 takes four bits at a time: its table is small, and tags are short.
func crc16(s string) uint16 {
	table := [16]uint16{
		0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
	}
	var crc uint16
	for i := range len(s) {
		crc = crc<<4 ^ table[crc>>12^uint16(s[i]>>4)]
		crc = crc<<4 ^ table[crc>>12^uint16(s[i]&15)]
	}
	return crc
}
