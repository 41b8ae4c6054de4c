package policymap

// configs are the two configurations of an instance.
type configs interface {
	Load() (Config, error)
	Fallback() (Config, bool, error)
}

// InForce returns what the program decides by at a time of the boot clock, in ns. Once the time of
// what was tried is over that is the fallback, and without one everything passes.
func (m *Map) InForce(now uint64) (Config, error) { return inForce(m, now) }

func inForce(m configs, now uint64) (Config, error) {
	config, err := m.Load()
	if err != nil || now < config.ValidUntil {
		return config, err
	}
	fallback, ok, err := m.Fallback()
	if err != nil || ok {
		return fallback, err
	}
	return NewConfig(), nil
}

// Possible returns what may be in force before anybody changes the configuration again: during a
// trial that is also what it goes back to.
func (m *Map) Possible() ([]Config, error) {
	config, err := m.Load()
	if err != nil {
		return nil, err
	}
	possible := []Config{config}
	if config.ValidUntil == Forever {
		return possible, nil
	}
	fallback, ok, err := m.Fallback()
	if ok {
		possible = append(possible, fallback)
	}
	return possible, err
}
