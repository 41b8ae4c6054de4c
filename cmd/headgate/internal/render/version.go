package render

// Version says what this headgate is.
type Version struct {
	Version  string `json:"version"`
	Build    string `json:"build"` // first digits of the SHA-256 of the program for the kernel
	Go       string `json:"go"`
	Platform string `json:"platform"` // operating system and architecture
	Kernel   string `json:"kernel"`
}

// Table writes a line for each.
func (v Version) Table(p *Page) {
	p.Facts(
		Fact{"headgate", v.Version},
		Fact{"program", v.Build},
		Fact{"go", v.Go + " " + v.Platform},
		Fact{"kernel", v.Kernel},
	)
}
