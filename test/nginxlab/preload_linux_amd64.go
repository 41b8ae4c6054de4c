package nginxlab

import _ "embed"

// clockLibrary is clock.c for this machine.
//
//go:embed clock_amd64.so
var clockLibrary []byte
