package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: plots DIRECTORY")
	}
	for name, picture := range pictures() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), picture, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// pictures returns all pictures by the names of their files.
func pictures() map[string][]byte {
	return map[string][]byte{
		"http-steady.svg": drawAdmitted("20 requests a second for 3 s, at 10r/s",
			steady(), contenders(5), axis{0, 3.5, 0.5, "%.1f"}, axis{0, 60, 10, "%.0f"}),
		"http-edge.svg": drawAdmitted("1 request at 0 s, and 41 around the edge of the window that it begins, at 10r/s",
			edge(), contenders(9), axis{0.85, 1.2, 0.05, "%.2f"}, axis{0, 50, 10, "%.0f"}),
		"http-delay.svg": drawDelays("8 requests at one instant, at 10r/s with a burst of 5", instant(8)),
		"adaptive.svg":   drawAdaptive(),
	}
}
