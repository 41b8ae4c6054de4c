package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/event"
)

// OpenAPI returns the description of the API, in the form of OpenAPI 3.1.
func OpenAPI() json.RawMessage {
	named, paths := schemas{}, object{}
	for _, o := range operations() {
		path, has := paths[o.path].(object)
		if !has {
			path = object{}
			paths[o.path] = path
		}
		path[strings.ToLower(o.method)] = o.describe(named)
	}
	document, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "headgate", "version": "1",
			"description": "Administration of the agent, on a unix socket, or on loopback with a token. Errors are problems (RFC 9457) whose detail says what to do.",
		},
		"servers":  []object{{"url": "http://localhost", "description": "over the unix socket any host will do"}},
		"security": []object{{}, {"token": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas":         named,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "only on a TCP listener"}},
		},
	}, "", "  ")
	if err != nil { // it is made of maps, slices and texts
		panic(err)
	}
	return document
}

func openAPIOperation() operation {
	return operation{
		method: http.MethodGet, path: "/v1/openapi.json", id: "openapi",
		summary: "This description",
		serve: func(_ *handler, w http.ResponseWriter, _ *http.Request) (any, error) {
			answer(w, OpenAPI())
			return nil, nil
		},
	}
}

// describe returns the operation in the words of OpenAPI.
func (o *operation) describe(named schemas) object {
	d := object{"operationId": o.id, "summary": o.summary, "responses": o.responses(named)}
	if o.details != "" {
		d["description"] = o.details
	}
	if parameters := o.describeParameters(); len(parameters) > 0 {
		d["parameters"] = parameters
	}
	if o.in != nil {
		_, required := fieldNames(o.in)
		d["requestBody"] = object{
			"required": len(required) > 0,
			"content":  object{"application/json": object{"schema": schemaOf(o.in, named)}},
		}
		closed(named[o.in.Name()])
	}
	return d
}

// responses describes the answer, and the problems.
func (o *operation) responses(named schemas) object {
	schema := object{"type": "object"}
	switch {
	case o.out != nil:
		schema = schemaOf(o.out, named)
	case o.media != "":
		schema = schemaOf(reflect.TypeFor[event.Event](), named)
	}
	media := "application/json"
	if o.media != "" {
		media = o.media
	}
	all := object{"200": object{"description": "done", "content": object{media: object{"schema": schema}}}}
	trouble := object{"application/problem+json": object{"schema": schemaOf(reflect.TypeFor[Problem](), named)}}
	for _, status := range o.statuses() {
		all[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": trouble}
	}
	return all
}

// statuses returns those of all problems that the operation may answer with.
func (o *operation) statuses() []int {
	all := append([]int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError,
	}, o.failures...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (o *operation) describeParameters() (all []object) {
	for segment := range strings.SplitSeq(o.path, "/") {
		if name, is := strings.CutPrefix(segment, "{"); is {
			name = strings.TrimSuffix(name, "}")
			all = append(all, object{
				"name": name, "in": "path", "required": true,
				"description": fmt.Sprintf("name of the %s", name), "schema": object{"type": "string"},
			})
		}
	}
	for _, p := range o.query {
		all = append(all, object{
			"name": p.name, "in": "query", "required": p.required, "description": p.doc, "schema": p.schema(),
		})
	}
	return all
}

func (p *parameter) schema() object {
	s := object{"type": "string"}
	if p.most > 0 {
		s = object{"type": "integer", "minimum": p.least, "maximum": p.most, "default": p.byDefault}
	}
	if len(p.enum) > 0 {
		s["enum"] = p.enum
	}
	if p.repeated {
		return object{"type": "array", "items": s}
	}
	return s
}
