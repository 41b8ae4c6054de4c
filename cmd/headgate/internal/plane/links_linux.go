package plane

import (
	"context"
	"fmt"

	"github.com/vishvananda/netlink"
)

// linkChanges yields the names of interfaces that come, go or change, in the network namespace of the calling thread. It
// is closed when ctx ends, and when the kernel had more to tell than was taken.
func linkChanges(ctx context.Context) (<-chan string, error) {
	updates := make(chan netlink.LinkUpdate)
	if err := netlink.LinkSubscribeWithOptions(updates, ctx.Done(), netlink.LinkSubscribeOptions{}); err != nil {
		return nil, fmt.Errorf("follow the interfaces: %w", err)
	}
	names := make(chan string)
	go func() {
		defer close(names)
		for u := range updates { // to the end: netlink waits for somebody to take what it has
			select {
			case names <- u.Attrs().Name:
			case <-ctx.Done():
			}
		}
	}()
	return names, nil
}
