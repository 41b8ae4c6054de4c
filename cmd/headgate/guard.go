package main

import (
	"errors"
	"fmt"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
)

// guard refuses what would cut off a peer, unless that is forced.
func (e *env) guard(force bool) lockout.Guard {
	if force {
		return lockout.Guard{}
	}
	return lockout.Guard{Peers: func() []lockout.Peer { return lockout.Peers(e.getenv) }}
}

// forcible says how to do what a guard refused.
func forcible(err error) error {
	if _, refused := errors.AsType[lockout.Refusal](err); refused {
		return fmt.Errorf("%w; nothing was changed, and --force does it all the same", err)
	}
	return err
}
