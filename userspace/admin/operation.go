package admin

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// operation is what can be asked of the API.
type operation struct {
	method, path string
	id           string // a word for generated clients
	summary      string // one line
	details      string // may be empty
	query        []parameter
	failures     []int        // beside those that every operation has
	in           reflect.Type // of the body; nil for none
	out          reflect.Type // of the answer; nil if serve writes it
	mostBody     int64        // bytes of the body, if not maxBody
	tooLarge     string       // what else is said of a body that is larger
	media        string       // of the answer, if not application/json
	told         bool         // the agent logs by itself why it refuses
	serve        func(h *handler, w http.ResponseWriter, r *http.Request) (any, error)
}

// parameter is a parameter in the query of a request.
type parameter struct {
	name, doc string
	least     int // of a number
	most      int // of a number; 0 for a text
	byDefault int // of a number
	repeated  bool
	required  bool
	enum      []string
}

// maxShown is how many entries a list of the greatest has at most.
const maxShown = 1000

// shown is the parameter that says how many entries a list has.
func shown() parameter {
	return parameter{name: "n", doc: "how many to return at most", least: 1, most: maxShown, byDefault: 20}
}

// reads makes an operation of a function that needs no body.
func reads[Out any](o operation, do func(Agent, *http.Request) (Out, error)) operation {
	o.out = reflect.TypeFor[Out]()
	o.serve = func(h *handler, _ http.ResponseWriter, r *http.Request) (any, error) { return do(h.agent, r) }
	return o
}

// takes makes an operation of a function that takes a body.
func takes[In, Out any](o operation, do func(Agent, *http.Request, In) (Out, error)) operation {
	o.in, o.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	o.failures = append(o.failures, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	o.serve = func(h *handler, _ http.ResponseWriter, r *http.Request) (any, error) {
		in, err := decode[In](r)
		if p := (*Problem)(nil); errors.As(err, &p) && p.Status == http.StatusRequestEntityTooLarge {
			p.Detail += o.tooLarge
		}
		if err != nil {
			return nil, err
		}
		note(r, "setting", fieldsOf(in)) // an empty group is left out
		return do(h.agent, r, in)
	}
	return o
}

// changes reports whether something is other than before.
func (o *operation) changes() bool { return o.method != http.MethodGet }

// checkQuery returns an error unless the query of a request is one that the operation has.
func (o *operation) checkQuery(r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem(http.StatusBadRequest, "query: %v", err)
	}
	for name := range query {
		if !slices.ContainsFunc(o.query, func(p parameter) bool { return p.name == name }) {
			return problem(http.StatusBadRequest, "query: unknown parameter %.40q; there is %s", name, orNone(o.parameters()))
		}
	}
	for _, p := range o.query {
		if err := p.check(query[p.name]); err != nil {
			return err
		}
	}
	return nil
}

func (o *operation) parameters() (names []string) {
	for _, p := range o.query {
		names = append(names, p.name)
	}
	return names
}

// check returns an error for values that the parameter cannot have.
func (p *parameter) check(values []string) error {
	switch {
	case len(values) == 0 && p.required:
		return problem(http.StatusBadRequest, "query: the parameter %q is missing", p.name)
	case len(values) > 1 && !p.repeated:
		return problem(http.StatusBadRequest, "query: the parameter %q is there twice", p.name)
	}
	for _, v := range values {
		if err := p.checkValue(v); err != nil {
			return err
		}
	}
	return nil
}

func (p *parameter) checkValue(v string) error {
	if p.most > 0 {
		if n, err := strconv.Atoi(v); err != nil || n < p.least || n > p.most {
			return problem(http.StatusBadRequest, "query: %s=%.40q; use a number from %d to %d", p.name, v, p.least, p.most)
		}
	}
	if len(p.enum) > 0 && !slices.Contains(p.enum, v) {
		return problem(http.StatusBadRequest, "query: %s=%.40q; use one of %s", p.name, v, orNone(p.enum))
	}
	if !utf8.ValidString(v) && !p.repeated { // the parts of a key are of any bytes
		return problem(http.StatusBadRequest, "query: %s is not UTF-8", p.name)
	}
	return nil
}

// number returns a parameter that shown describes.
func number(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil { // it was checked, so it is not there
		return shown().byDefault
	}
	return n
}
