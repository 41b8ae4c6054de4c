package main

import "strconv"

// protocolName returns the name of an IP protocol, or its number where it has no common name.
func protocolName(number uint8) string {
	for name, n := range protocols {
		if n == number {
			return name
		}
	}
	return strconv.Itoa(int(number))
}
