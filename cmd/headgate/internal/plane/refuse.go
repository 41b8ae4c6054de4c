package plane

import (
	"errors"
	"fmt"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/userspace/admin"
)

// guarded says what to do about what a guard has refused.
func guarded(err error) error {
	if _, refused := errors.AsType[lockout.Refusal](err); refused {
		return fmt.Errorf("%w; nothing was changed; an allow rule for the address, or a higher limit, mends it", err)
	}
	return err
}

// partHint says what to do about a limit for a part of a source.
func partHint(err error) error {
	if part, ok := errors.AsType[policymap.PartError](err); ok {
		return fmt.Errorf("%w, or make sources of %d bits by ipv%d_prefix", err, part.Prefix.Bits(), part.Family())
	}
	return err
}

// refused wraps an error that is the caller's fault.
func refused(err error) error {
	if err == nil {
		return nil
	}
	err = guarded(err)
	for _, fault := range []error{policymap.ErrNoPolicy, policymap.ErrDuplicate, policymap.ErrTooMany, rulemap.ErrFull, rulemap.ErrHeld} {
		if errors.Is(err, fault) {
			return admin.Refusal{Err: err}
		}
	}
	_, wrong := errors.AsType[change.Refusal](err)
	_, cut := errors.AsType[lockout.Refusal](err)
	_, part := errors.AsType[policymap.PartError](err)
	if wrong || cut || part {
		return admin.Refusal{Err: partHint(err)}
	}
	return err
}
