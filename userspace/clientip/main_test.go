package clientip_test

import (
	"net/netip"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/test/seed"
	"github.com/headgate/headgate/userspace/clientip"
)

func TestMain(m *testing.M) { os.Exit(seed.Run(m)) }

// mustNew returns the resolver for options that are right.
func mustNew(t rapid.TB, o clientip.Options) *clientip.Resolver {
	t.Helper()
	r, err := clientip.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// prefixes parses what is right.
func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// addr parses an address, and "" to an invalid one.
func addr(text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	return netip.MustParseAddr(text)
}
