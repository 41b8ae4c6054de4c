package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
)

// notes are what the log tells of a change beside what the request line says.
type notes struct{ pairs []any }

type notesKey struct{}

// noting returns a request whose operation may note something.
func noting(r *http.Request) (*http.Request, *notes) {
	n := new(notes)
	return r.WithContext(context.WithValue(r.Context(), notesKey{}, n)), n
}

// note has the log tell something of the change that a request makes: what was before, or came of it.
func note(r *http.Request, key string, value any) {
	if n, ok := r.Context().Value(notesKey{}).(*notes); ok {
		n.pairs = append(n.pairs, key, value)
	}
}

// mostLogged is how many elements of a list the log tells.
const mostLogged = 5

// logged returns a value as the log has it: of a long list its beginning, and how many more there are.
func logged(value any) any {
	list, is := value.([]string)
	if !is || len(list) <= mostLogged {
		return value
	}
	return append(slices.Clone(list[:mostLogged]), fmt.Sprintf("and %d more", len(list)-mostLogged))
}

// fieldsOf returns the fields of a struct that are set, as the log and JSON name them.
func fieldsOf(setting any) slog.Value {
	of, value := reflect.TypeOf(setting), reflect.ValueOf(setting)
	var all []slog.Attr
	for f := range structFields(of) {
		if v := value.FieldByIndex(f.Index); !v.IsZero() {
			all = append(all, slog.Any(f.name, logged(v.Interface())))
		}
	}
	return slog.GroupValue(all...)
}
