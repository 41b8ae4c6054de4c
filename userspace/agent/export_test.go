package agent

// ReloadChanged does what the agent does when it is told that its files have changed.
func (a *Agent) ReloadChanged() {
	a.reloadChanged(func() []string { return sources(a.options.Path, a.state.file) })
}
