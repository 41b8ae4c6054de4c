package openapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/headgate/headgate/userspace/admin"
)

// The description is one of OpenAPI 3.1.
func TestDescription(t *testing.T) { describe(t) }

// described is an agent's API, and its description.
type described struct {
	document *openapi3.T
	router   routers.Router
	client   *http.Client
	unasked  map[string]bool // operations
}

func describe(t *testing.T) *described {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(admin.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context(), openapi3.EnableSchemaPatternValidation(), openapi3.EnableSchemaDefaultsValidation()); err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	d := &described{document: document, router: router, unasked: map[string]bool{}}
	for _, path := range document.Paths.Map() {
		for _, o := range path.Operations() {
			d.unasked[o.OperationID] = true
		}
	}
	return d
}

// connect has d ask the agent at a socket.
func (d *described) connect(t *testing.T, socket string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	d.client = &http.Client{Transport: transport}
}

// request is one, and the status that is right.
type request struct {
	method, target, body string
	status               int
}

// check makes a request and validates both it and the answer. What is answered with 400, and only that, is not as
// described.
func (d *described) check(t *testing.T, r request) {
	t.Helper()
	asked := d.input(t, r)
	err := openapi3filter.ValidateRequest(t.Context(), asked)
	if isWrong := r.status == http.StatusBadRequest; isWrong != (err != nil) {
		t.Errorf("%s %s: to be answered with %d, and for the validator there is: %v", r.method, r.target, r.status, err)
	}
	status, header, body := d.ask(t, r)
	if status != r.status {
		t.Errorf("%s %s: status %d, want %d: %s", r.method, r.target, status, r.status, body)
	}
	answer := &openapi3filter.ResponseValidationInput{RequestValidationInput: asked, Status: status, Header: header, Options: asked.Options}
	if err := openapi3filter.ValidateResponse(t.Context(), answer.SetBodyBytes(body)); err != nil {
		t.Errorf("%s %s: %v in %s", r.method, r.target, err, body)
	}
	if status == http.StatusOK {
		delete(d.unasked, asked.Route.Operation.OperationID)
	}
}

// input returns the request as the validator takes it.
func (d *described) input(t *testing.T, r request) *openapi3filter.RequestValidationInput {
	t.Helper()
	request := d.request(t, r)
	route, parameters, err := d.router.FindRoute(request)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.target, err)
	}
	return &openapi3filter.RequestValidationInput{Request: request, PathParams: parameters, Route: route, Options: &openapi3filter.Options{
		IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}}
}

func (d *described) request(t *testing.T, r request) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), r.method, "http://localhost"+r.target, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request
}

func (d *described) ask(t *testing.T, r request) (status int, header http.Header, body []byte) {
	t.Helper()
	response, err := d.client.Do(d.request(t, r))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, body
}

// follow begins to listen to events, and returns a function that validates the first one.
func (d *described) follow(t *testing.T) (first func()) {
	t.Helper()
	response, err := d.client.Do(d.request(t, request{method: http.MethodGet, target: "/v1/events"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	operation := d.document.Paths.Value("/v1/events").Get
	schema := operation.Responses.Status(http.StatusOK).Value.Content["application/x-ndjson"].Schema.Value
	return func() {
		t.Helper()
		var event any
		if err := json.NewDecoder(response.Body).Decode(&event); err != nil {
			t.Fatal(err)
		}
		if err := schema.VisitJSON(event, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("event %v: %v", event, err)
		}
		delete(d.unasked, operation.OperationID)
	}
}

// wantAllAsked checks that each operation has answered well.
func (d *described) wantAllAsked(t *testing.T) {
	t.Helper()
	for _, o := range slices.Sorted(maps.Keys(d.unasked)) {
		t.Errorf("operation %s was not asked for, or never answered well", o)
	}
}

// wantOwn checks that the agent's own description is this one.
func (d *described) wantOwn(t *testing.T) {
	t.Helper()
	var want bytes.Buffer
	if err := json.Compact(&want, admin.OpenAPI()); err != nil {
		t.Fatal(err)
	}
	_, _, body := d.ask(t, request{method: http.MethodGet, target: "/v1/openapi.json"})
	if got := bytes.TrimSpace(body); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the agent's description is another: %s", got)
	}
}
