// Package debian gets programs for tests from apt without installing anything: it downloads packages into the user's cache and
// unpacks them there. On other systems than Linux the package is empty.
package debian
