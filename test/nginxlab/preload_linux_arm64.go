package nginxlab

import _ "embed"

// clockLibrary is clock.c for this machine.
//
//go:embed clock_arm64.so
var clockLibrary []byte
