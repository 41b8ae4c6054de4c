package conformance

import "slices"

// Scenario is rules and requests that come one after the other.
type Scenario struct {
	Name string
	// HTTP is the content of an http section, indented.
	HTTP  string
	Steps []Step
}

// Scenarios returns all scenarios.
func Scenarios() []Scenario {
	return slices.Concat(limits(), clients(), requests(), answers())
}
