// Package seed makes property tests do the same at each run.
package seed

import (
	"flag"
	"testing"

	_ "pgregory.net/rapid" // has the flag
)

// Run runs the tests of a package with a fixed seed of rapid's, for its TestMain.
// -rapid.seed=N explores another part of the space.
func Run(m *testing.M) int {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
