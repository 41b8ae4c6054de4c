package config

import (
	"strconv"
	"strings"
)

// decimal returns a number of at least low and at most high, or otherwise if it is not given or wrong.
func (m mapping) decimal(name string, low, high, otherwise float64) float64 {
	v := m.field(name)
	if !v.given() {
		return otherwise
	}
	text, ok := v.text()
	if !ok {
		return otherwise
	}
	return v.within(text, text, 1, low, high, otherwise)
}

// share returns a share, written as a number up to 1 or with %, or 0 if it is wrong.
func (v value) share(low, high float64) float64 {
	text, ok := v.text()
	if !ok {
		return 0
	}
	if number, percent := strings.CutSuffix(text, "%"); percent {
		return v.within(text, number, 100, low, high, 0)
	}
	return v.within(text, text, 1, low, high, 0)
}

// within returns number, of the value that is written as text, in parts of whole, if it is at least low and at most
// high.
func (v value) within(text, number string, whole, low, high, otherwise float64) float64 {
	sign := ""
	if whole == 100 {
		sign = "%"
	}
	n, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || strings.Trim(number, "0123456789.") != "": // neither inf nor 1e3
		v.fail("%.40q is not a number; use %s", text, v.form)
	case n < low*whole || n > high*whole:
		v.fail("%.40s is out of range; use %s%s to %s%s", text, formatNumber(low*whole), sign, formatNumber(high*whole), sign)
	default:
		return n / whole
	}
	return otherwise
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
