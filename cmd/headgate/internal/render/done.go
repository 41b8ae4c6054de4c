package render

// Done is what a verb has done.
type Done struct {
	Action     string   `json:"action"` // the verb: block, allow, detach
	Prefixes   []string `json:"prefixes,omitempty"`
	Policy     string   `json:"policy,omitempty"`
	Interfaces []string `json:"interfaces,omitempty"`
	Changed    int      `json:"changed"` // how many things are other than before

	// Lines say the same to people.
	Lines []string `json:"-"`
}

// Table writes the lines.
func (d Done) Table(p *Page) {
	for _, line := range d.Lines {
		p.Line("%s", line)
	}
}
