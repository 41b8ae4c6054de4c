package adaptive

import "fmt"

// Change is what a Step decided.
type Change struct {
	// Factor is what the rates are multiplied with from now on, and Was what they were before.
	Factor, Was float64
	Health      Health
	// Reason is why, in words.
	Reason string
	// Observed reports that the configuration says to apply nothing. Then an unhealthy backend sees
	// no relief, and the factor falls to the floor: it tells the direction, not how far it would go.
	Observed bool
	// Signal and Target are in seconds, a share from 0 to 1, or requests; Answers are those in the window.
	Signal, Target float64
	Answers        uint64
}

// Changed reports whether the factor is another one than before.
func (c Change) Changed() bool { return c.Factor != c.Was }

// Applied returns what rates are to be multiplied with: 1 where the configuration says to observe only.
func (c Change) Applied() float64 {
	if c.Observed {
		return 1
	}
	return c.Factor
}

// State is the last decision, and how many raised and lowered the factor so far.
type State struct {
	Change
	Raised, Lowered uint64
}

// Health is what a window says about the backend.
type Health string

// What a window may say. Only Unhealthy lowers the factor; Healthy raises it, and Quiet moves it towards 1.
const (
	Healthy   Health = "healthy"
	Between   Health = "between"   // Recover times the target and the target
	Unhealthy Health = "unhealthy" //
	Settling  Health = "settling"  // as Unhealthy, but maybe due to what was let in before the last decrease
	Doubtful  Health = "doubtful"  // above the target, by too few answers
	Failing   Health = "failing"   // within the target, but half of the answers are 5xx
	Quiet     Health = "quiet"     // too few answers
)

// Healths returns all values.
func Healths() []Health {
	return []Health{Healthy, Between, Unhealthy, Settling, Doubtful, Failing, Quiet}
}

// reason says in words what was decided by.
func (h Health) reason(r reading, recovery float64) string {
	target := r.format(r.target)
	switch h {
	case Healthy:
		return fmt.Sprintf("%s, not above %s", r, r.format(r.target*recovery))
	case Between:
		return fmt.Sprintf("%s, between %s and %s", r, r.format(r.target*recovery), target)
	case Unhealthy:
		return fmt.Sprintf("%s, above %s", r, target)
	case Settling:
		return fmt.Sprintf("%s, above %s, but the last decrease may not show yet", r, target)
	case Doubtful:
		return fmt.Sprintf("%s, above %s, but only %d of them are: %d are needed", r, target, r.beyond, enough)
	case Failing:
		return fmt.Sprintf("%s, but half of them are 5xx", r)
	default:
		return fmt.Sprintf("%d answers: fewer than %d say nothing", r.answers, enough)
	}
}
