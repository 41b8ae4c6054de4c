//go:build linux

package netlab

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// settleLimit is how long an interface may take to be ready, which is
// milliseconds as a rule.
const settleLimit = 10 * time.Second

// settle waits until the end is ready for traffic. The kernel does two things
// in the background: it connects an interface that has just got a carrier to
// its transmit queue, and it makes an IPv6 address one to receive on. Until
// then, packets vanish.
func (e *End) settle(addrs []netip.Prefix) error {
	err := e.Namespace.Do(func() error {
		return await(func() (bool, error) { return e.ready(addrs) })
	})
	if err != nil {
		return fmt.Errorf("wait for %s to be ready: %w", e.Name, err)
	}
	return nil
}

func (e *End) ready(addrs []netip.Prefix) (bool, error) {
	link, err := netlink.LinkByIndex(e.Index)
	if err != nil || link.Attrs().OperState != netlink.OperUp {
		return false, err
	}
	for _, p := range addrs {
		if !isLocal(p.Addr()) {
			return false, nil
		}
	}
	return true, nil
}

// isLocal says whether the current namespace receives packets to an address. An
// error means that there is no route to it yet.
func isLocal(addr netip.Addr) bool {
	routes, err := netlink.RouteGet(addr.AsSlice())
	return err == nil && len(routes) == 1 && routes[0].Type == unix.RTN_LOCAL
}

// await returns when ready does not return false any more. It asks again at
// each change to the links and routes of the current namespace.
func await(ready func() (bool, error)) error {
	changes, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV6_ROUTE)
	if err != nil {
		return fmt.Errorf("subscribe to changes: %w", err)
	}
	defer changes.Close()
	limit := unix.NsecToTimeval(settleLimit.Nanoseconds())
	if err := changes.SetReceiveTimeout(&limit); err != nil {
		return err
	}
	for {
		if ok, err := ready(); ok || err != nil {
			return err
		}
		if _, _, err := changes.Receive(); errors.Is(err, unix.EAGAIN) {
			return fmt.Errorf("no change for %v", settleLimit)
		} else if err != nil {
			return fmt.Errorf("receive changes: %w", err)
		}
	}
}
