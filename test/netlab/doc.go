// Package netlab makes throwaway networks out of Linux network namespaces and
// veth pairs, sends exact numbers of frames over them, and counts exactly what
// arrives. It runs no other program and touches no existing interface.
//
//	near, err := netlab.New()
//	far, err := netlab.New()
//	pair, err := netlab.NewPair(near, far, netlab.PairOptions{})
//	sender, err := netlab.NewSender(pair.Near)
//	counter, err := netlab.NewCounter(pair.Far, packet.Source)
//	counts, err := netlab.Exchange(ctx, sender, counter, frames...)
//
// Everything has a Close method. A namespace lives until it and all that was
// opened in it is closed; with it go its interfaces and whatever is attached to
// them. The namespaces have no name and no place in the file system, so a
// process that is killed leaves nothing behind.
//
// Nothing in a lab sends frames by itself: see NewPair. All of it needs root
// (CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW). On other systems than Linux
// the package is empty.
package netlab
