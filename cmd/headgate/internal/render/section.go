package render

// SectionInForce is a section of a configuration file other than http, in words.
type SectionInForce struct {
	Name  string        `json:"name"`
	Facts []FactInForce `json:"facts"`
}

// FactInForce is one thing that a section says. Several may have one name.
type FactInForce struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Add adds a fact.
func (s *SectionInForce) Add(name, text string) {
	s.Facts = append(s.Facts, FactInForce{Name: name, Text: text})
}

func (s SectionInForce) table(p *Page) {
	var facts []Fact
	for _, f := range s.Facts {
		facts = append(facts, Fact{"   " + f.Name, f.Text})
	}
	p.Line("%s", s.Name)
	p.Facts(facts...)
}
