package main

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

func TestVersion(t *testing.T) {
	c := newConsole()
	if code := c.run(t, "version", "-o", "json"); code != exitDone {
		t.Fatalf("exit %d, %s", code, c.err.String())
	}
	var got render.Version
	if err := json.Unmarshal(c.out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version == "" || len(got.Build) != 12 || got.Go != runtime.Version() || got.Kernel == "" {
		t.Errorf("%+v", got)
	}
}
