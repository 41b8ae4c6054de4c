package render

import (
	"slices"
	"unicode/utf8"
)

// topColumn is a column of the grid of sources. The one of the greatest rank goes first where not
// all have room.
type topColumn struct {
	Column
	rank int
	cell func(TopSource) string
}

// topColumns returns the columns, with rates, and for sources some of whose packets would be
// dropped.
func topColumns(rated, dry bool) []topColumn {
	passed := topColumn{right("PASSED"), 7, func(s TopSource) string { return count(s.Pass.Packets) }}
	dropped := topColumn{right("DROPPED"), 6, func(s TopSource) string { return count(s.Drop.Packets) }}
	wouldDrop := topColumn{right("WOULD DROP"), 8, func(s TopSource) string { return count(s.WouldDrop.Packets) }}
	if dry {
		wouldDrop.rank = 1
	}
	columns := []topColumn{
		{left("SOURCE"), 0, func(s TopSource) string { return s.Source }},
		{left("POLICY"), 5, func(s TopSource) string { return orDash(s.Policy) }},
	}
	if rated {
		columns = append(columns, rateColumns(dry)...)
	}
	return append(columns, passed, dropped, wouldDrop)
}

func rateColumns(dry bool) []topColumn {
	columns := []topColumn{
		{right("PASS/s"), 4, func(s TopSource) string { pass, _, _, _ := s.Rates.cells(); return pass }},
		{right("PASS RATE"), 9, func(s TopSource) string { _, bits, _, _ := s.Rates.cells(); return bits }},
		{right("DROP/s"), 3, func(s TopSource) string { _, _, drop, _ := s.Rates.cells(); return drop }},
	}
	if dry {
		columns = append(columns, topColumn{
			right("WOULD DROP/s"), 2, func(s TopSource) string { _, _, _, would := s.Rates.cells(); return would },
		})
	}
	return columns
}

// fitting leaves out columns until the others fit. The sources stay.
func (t Top) fitting(columns []topColumn, width int) []topColumn {
	for len(columns) > 1 && t.widthOf(columns) > width {
		least := slices.MaxFunc(columns, func(a, b topColumn) int { return a.rank - b.rank })
		columns = slices.DeleteFunc(columns, func(c topColumn) bool { return c.rank == least.rank })
	}
	return columns
}

func (t Top) widthOf(columns []topColumn) int {
	width := len(gap) * (len(columns) - 1)
	for _, c := range columns {
		widest := utf8.RuneCountInString(c.Name)
		for _, s := range t {
			widest = max(widest, utf8.RuneCountInString(c.cell(s)))
		}
		width += widest
	}
	return width
}
