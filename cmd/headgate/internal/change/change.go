// Package change is what the commands and the agent do alike to an instance: it attaches and sets
// limits as one change, of which all is done or nothing, and refuses what would leave something
// without a meaning.
package change

import (
	"errors"
	"iter"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// Refusal is an error that is in what was asked for, found before anything was done.
type Refusal struct{ Err error }

// Error implements error.
func (r Refusal) Error() string { return r.Err.Error() }

// Unwrap returns what was wrong.
func (r Refusal) Unwrap() error { return r.Err }

// Change is a change of an instance on its way: what it has done so far, so that it can go back.
type Change struct {
	Instance *loader.Instance // locked
	Created  bool             // by this change
	// Before is the configuration that there was. Who opens a Change sets it.
	Before policymap.Config

	stored   bool                // another one than before
	attached []loader.Attachment // by this change
	detached []loader.Attachment
	replaced *rulemap.Replaced
}

// Open opens or makes the instance. settle finishes what is left of a trial; where that removes the instance it
// returns loader.ErrNotLoaded, and another one is made. The caller must close the Instance.
func Open(o loader.Options, settle func(*loader.Instance) error) (*Change, error) {
	for {
		i, created, err := loader.Create(o)
		if err != nil {
			return nil, err
		}
		err = settle(i)
		if err == nil {
			return &Change{Instance: i, Created: created}, nil
		}
		if err := i.Close(); err != nil {
			return nil, err
		}
		if !errors.Is(err, loader.ErrNotLoaded) {
			return nil, err
		}
	}
}

// Upgrade replaces the program of an instance that another build of headgate made, and says whether
// it was one. GoBack does not undo that: the program keeps what there is.
func (c *Change) Upgrade() (bool, error) {
	outdated, err := c.Instance.Outdated()
	if err != nil || !outdated {
		return false, err
	}
	return true, c.Instance.Upgrade()
}

// Store puts a configuration in force. If it is on trial, Before takes over when that ends; where
// there was nothing before, everything passes then.
func (c *Change) Store(config policymap.Config) error {
	c.stored = true
	policies := c.Instance.Policies()
	if err := policies.DropFallback(); err != nil {
		return err
	}
	if config.ValidUntil != policymap.Forever && !c.Created {
		if err := policies.StoreFallback(c.Before); err != nil {
			return err
		}
	}
	return policies.Store(config)
}

// Replace replaces the rules of an origin, see rulemap.Map.Replace. A Change can do so once.
func (c *Change) Replace(origin rulemap.Origin, rules iter.Seq[rulemap.Rule], progress func(done int)) (r *rulemap.Replaced, err error) {
	c.replaced, err = c.Instance.Rules().Replace(origin, rules, progress)
	return c.replaced, err
}

// Attach attaches to an interface. already says that it was attached to before.
func (c *Change) Attach(name string, mode loader.Mode) (a loader.Attachment, already bool, err error) {
	a, already, err = c.Instance.Attach(name, mode)
	if err == nil && !already {
		c.attached = append(c.attached, a)
	}
	return a, already, err
}

// Detach detaches from an interface.
func (c *Change) Detach(a loader.Attachment) error {
	if err := c.Instance.Detach(a.Index); err != nil {
		return err
	}
	c.detached = append(c.detached, a)
	return nil
}

// GoBack undoes what was done before an error.
func (c *Change) GoBack() error {
	if c.Created {
		return c.Instance.RemoveAll()
	}
	var errs []error
	for _, a := range c.detached {
		_, _, err := c.Instance.Attach(a.Name, a.Mode)
		errs = append(errs, err)
	}
	for _, a := range c.attached {
		errs = append(errs, c.Instance.Detach(a.Index))
	}
	if c.replaced != nil {
		errs = append(errs, c.replaced.Undo())
	}
	if c.stored {
		errs = append(errs, c.Instance.Policies().Store(c.Before))
	}
	return errors.Join(errs...)
}
