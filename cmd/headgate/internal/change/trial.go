package change

import (
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

// Settle finishes a trial whose time is over and that nobody was left to end, so that a change is
// not made to a configuration that is not in force. now is of the boot clock, in ns. left is how long a trial
// that is not over still has, 0 for none.
func Settle(i *loader.Instance, now uint64) (left time.Duration, err error) {
	config, err := i.Policies().Load()
	if err != nil || config.ValidUntil == policymap.Forever {
		return 0, err
	}
	if now < config.ValidUntil {
		return time.Duration(config.ValidUntil - now), nil
	}
	return 0, EndTrial(i, config)
}

// EndTrial makes everything as it was before a trial, whose configuration is config. Where nothing was
// it removes the instance, and returns loader.ErrNotLoaded.
func EndTrial(i *loader.Instance, config policymap.Config) error {
	fallback, existed, err := i.Policies().Fallback()
	if err != nil {
		return err
	}
	if !existed {
		if err := i.RemoveAll(); err != nil {
			return err
		}
		return fmt.Errorf("%w any more: the last attach was on trial and was not confirmed; attach again",
			loader.ErrNotLoaded)
	}
	var errs []error
	for _, number := range config.TrialInterfaces {
		errs = append(errs, i.DetachPinned(number)) // no attach comes through during a trial, so it keeps its pin
	}
	if err := errors.Join(append(errs, i.Policies().Store(fallback))...); err != nil {
		return err
	}
	return i.Policies().DropFallback()
}
