package render

// Done is what a verb has done.
type Done struct {
	Action     string   `json:"action"` // the verb: block, allow, detach
	Prefixes   []string `json:"prefixes,omitempty"`
	Policy     string   `json:"policy,omitempty"`
	Interfaces []string `json:"interfaces,omitempty"`
	Zone       string   `json:"zone,omitempty"`
	Key        []string `json:"key,omitempty"`    // of the zone, in parts
	Changed    int      `json:"changed"`          // how many things are other than before
	Lifted     int      `json:"lifted,omitempty"` // rules of offenders that an allow rule ended

	// Text says the same to people, in a line or several.
	Text string `json:"-"`
}

// Table writes the text.
func (d Done) Table(p *Page) { p.Line("%s", d.Text) }
