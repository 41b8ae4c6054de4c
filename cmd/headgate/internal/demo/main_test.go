package demo

import (
	"flag"
	"os"
	"testing"
)

// TestMain fixes the seed of the property tests, so that a run can be repeated.
// -rapid.seed=N explores another part of the space.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
