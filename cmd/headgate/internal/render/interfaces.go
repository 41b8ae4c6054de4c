package render

import "strconv"

// Interface is an interface that an instance limits.
type Interface struct {
	Name      string `json:"name"` // "" where it is gone or in another network namespace
	Index     int    `json:"index"`
	Mode      string `json:"mode"` // native or generic; unknown where Name is ""
	Frags     bool   `json:"frags"`
	ProgramID uint32 `json:"program_id"`
	Up        bool   `json:"up"`
	Gone      bool   `json:"gone"`
}

func interfaceGrid(p *Page, interfaces []Interface) {
	if len(interfaces) == 0 {
		p.Line("attached to no interface")
		return
	}
	columns := []Column{left("INTERFACE"), right("INDEX"), left("MODE"), left("FRAGS"), left("STATE"), right("PROGRAM")}
	var rows [][]string
	for _, i := range interfaces {
		rows = append(rows, []string{
			orDash(i.Name), strconv.Itoa(i.Index), i.Mode, yesNo(i.Frags), i.state(), count(uint64(i.ProgramID)),
		})
	}
	p.Grid(columns, rows)
}

func (i Interface) state() string {
	switch {
	case i.Gone:
		return "gone"
	case i.Name == "":
		return "in another namespace"
	case i.Up:
		return "up"
	default:
		return "down"
	}
}

// Attached is what attach has attached to.
type Attached struct {
	Interfaces []AttachedInterface `json:"interfaces"`
	Limit      string              `json:"limit"` // of the default policy, in words
	DryRun     bool                `json:"dry_run"`
	Enforced   bool                `json:"-"` // to be said, as dry run was ended
}

// AttachedInterface is one interface of Attached.
type AttachedInterface struct {
	Interface
	Already bool `json:"already"` // it was attached before
}

// Table writes a line for each interface.
func (a Attached) Table(p *Page) {
	for _, i := range a.Interfaces {
		p.Line("%s", i.line())
	}
	p.Line("default limit: %s", a.Limit)
	if a.DryRun {
		p.Line("dry run: nothing is dropped")
	}
	if a.Enforced {
		p.Line("no dry run: what is over a limit is dropped")
	}
}

func (i AttachedInterface) line() string {
	line := "attached to " + i.Name + " in " + i.Mode + " mode"
	if i.Already {
		line = i.Name + " was attached already, in " + i.Mode + " mode"
	}
	if i.Frags {
		line += ", for frames of several buffers"
	}
	if !i.Up {
		line += "; the interface is down"
	}
	return line
}
