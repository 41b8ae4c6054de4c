//go:build !linux

package plane

import "context"

// linkChanges yields nothing.
func linkChanges(context.Context) (<-chan string, error) { return make(chan string), nil }
