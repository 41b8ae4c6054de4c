package admin

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/seldom"
)

// Options say how the API is served. The zero value is for a unix socket.
type Options struct {
	// TokenFile has what clients must send as bearer token; it is read at each request, so a change
	// holds at once. If set, the request's Host must be of loopback too. Empty for a listener that only those
	// who may can reach.
	TokenFile string
	// Pprof serves /debug/pprof, where there is no TokenFile.
	Pprof bool
	// Log gets a line for each change, refused ones included. nil for none.
	Log *slog.Logger
	// Heartbeat is the time between two lines of the events, if there are none; 0 for 15 s.
	Heartbeat time.Duration
	// Closing, if not nil, is closed when the agent ends: streams end then, which have no end of their own.
	Closing <-chan struct{}
}

// DefaultHeartbeat is the time after which a stream of events without one has a line that says so.
const DefaultHeartbeat = 15 * time.Second

// handler serves the API.
type handler struct {
	agent   Agent
	options Options
	mux     *http.ServeMux
	streams chan struct{} // has an element for each stream that is open

	strangers seldom.Event // requests that were not admitted
}

// NewHandler returns what serves the API of a. It may be used by several servers at the same time.
func NewHandler(a Agent, o Options) http.Handler {
	if o.Heartbeat <= 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{agent: a, options: o, mux: http.NewServeMux(), streams: make(chan struct{}, maxStreams)}
	for _, op := range operations() {
		h.mux.Handle(op.method+" "+op.path, h.route(op))
	}
	if o.Pprof && o.TokenFile == "" {
		h.profiles()
	}
	return h
}

// operations returns all that can be asked, by path.
func operations() []operation {
	return slices.Concat(agentOperations(), zoneOperations(), kernelOperations(), fleetOperations(), []operation{streamOperation(), openAPIOperation()})
}

// profiles adds what `go tool pprof` asks for.
func (h *handler) profiles() {
	h.mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	h.mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	h.mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	h.mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	h.mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := h.admit(r); p != nil {
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="headgate"`)
		}
		if times, ok := h.strangers.Now(); ok { // whoever may connect can send as many as he likes
			h.options.Log.Warn("admin requests not admitted", "requests", times, "method", r.Method, "path", r.URL.Path, "reason", p.Detail)
		}
		p.write(w)
		return
	}
	found, pattern := h.mux.Handler(r)
	if pattern == "" {
		notServed(w, r, found)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// notServed answers as the mux would have, in the form of the API.
func notServed(w http.ResponseWriter, r *http.Request, refuses http.Handler) {
	seen := refusal{header: http.Header{}}
	refuses.ServeHTTP(&seen, r)
	if seen.status == http.StatusMethodNotAllowed {
		allow := seen.header.Get("Allow")
		w.Header().Set("Allow", allow)
		problem(seen.status, "%.20q is no method of %.60q; use %s", r.Method, r.URL.Path, allow).write(w)
		return
	}
	problem(http.StatusNotFound, "nothing is at %.60q; GET /v1/openapi.json says what there is", r.URL.Path).write(w)
}

// refusal takes what the mux answers.
type refusal struct {
	header http.Header
	status int
}

func (a *refusal) Header() http.Header         { return a.header }
func (a *refusal) WriteHeader(status int)      { a.status = status }
func (a *refusal) Write(b []byte) (int, error) { return len(b), nil }

// route serves an operation.
func (h *handler) route(o operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, cmp.Or(o.mostBody, maxBody))
		r, notes := noting(r)
		out, err := h.do(&o, w, r)
		if o.changes() {
			h.logChange(&o, r, notes, err)
		}
		switch {
		case err != nil:
			problemOf(err).write(w)
		case o.out != nil:
			answer(w, out)
		}
	})
}

func (h *handler) do(o *operation, w http.ResponseWriter, r *http.Request) (any, error) {
	if err := o.checkQuery(r); err != nil {
		return nil, err
	}
	return o.serve(h, w, r)
}

func (h *handler) logChange(o *operation, r *http.Request, n *notes, err error) {
	log := h.options.Log.With("operation", o.id, "path", r.URL.Path, "query", beginning(r.URL.RawQuery)).With(n.pairs...)
	switch {
	case err == nil:
		log.Info("admin change")
	case !o.told:
		log.Warn("admin change refused", "error", err)
	}
}

// mostQuery is how many bytes of a query the log tells.
const mostQuery = 1000

// beginning returns what the log tells of a query.
func beginning(query string) string {
	if len(query) <= mostQuery {
		return query
	}
	return query[:mostQuery] + "..."
}

// answer writes what an operation returned. A list without elements is an empty one.
func answer(w http.ResponseWriter, out any) {
	body, err := json.Marshal(out)
	if err != nil {
		problem(http.StatusInternalServerError, "write the answer: %v", err).write(w)
		return
	}
	if string(body) == "null" {
		body = []byte("[]")
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write(append(body, '\n')) // a client that has gone needs no answer
}
