package agent

import (
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/metrics"
	"github.com/headgate/headgate/userspace/verify"
)

// settleVerifier begins to verify clients, does it for another time, or ends it.
func (a *Agent) settleVerifier(file *config.File) {
	s := &a.state
	switch {
	case file.Kernel == nil || file.Kernel.VerifiedFor == 0:
		s.verifying.end()
		s.verifier = nil
	case s.verifier == nil:
		s.verifier = verify.New(verify.Options{
			Kernel: s.kernel, For: file.Kernel.VerifiedFor, Local: a.local.is, Log: a.log,
		})
		s.verifying.begin(s.ctx, a.do, s.verifier.Run)
	default:
		s.verifier.SetFor(file.Kernel.VerifiedFor)
	}
	s.decider.allowed.Store(s.verifier)
}

func (a *Agent) verifyMetrics() *metrics.Verify {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.state.verifier == nil {
		return nil
	}
	c := a.state.verifier.Counters()
	return &metrics.Verify{Told: c.Told, Lost: c.Lost, Failed: c.Failed}
}
