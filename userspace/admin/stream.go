package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/event"
)

const (
	// maxStreams is how many streams of events are open at a time.
	maxStreams = 16
	// writeTimeout is how long a reader of events may leave them unread before its stream ends.
	writeTimeout = 30 * time.Second
)

// Heartbeat is the kind of a line that says only that the stream is alive.
const Heartbeat event.Kind = "heartbeat"

// EventKinds returns the names of all kinds of events but that of the heartbeat.
func EventKinds() []string {
	var names []string
	for _, k := range event.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func streamOperation() operation {
	return operation{
		method: http.MethodGet, path: "/v1/events", id: "events", media: "application/x-ndjson",
		summary: "What happens, as it happens: a JSON object on each line, without end",
		details: "A reader that is too slow loses events, and the next one says how many in lost. " +
			"Without events there is a line of the kind heartbeat every 15 seconds. Up to 16 streams are open at a time.",
		query:    []parameter{{name: "kind", doc: "only events of this kind; again for each", repeated: true, enum: EventKinds()}},
		failures: []int{http.StatusServiceUnavailable},
		serve:    (*handler).stream,
	}
}

func (h *handler) stream(w http.ResponseWriter, r *http.Request) (any, error) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		return nil, problem(http.StatusServiceUnavailable, "%d streams of events are open already; end one", maxStreams)
	}
	listener := h.agent.Events()
	defer listener.Close()
	header := w.Header()
	header.Set("Content-Type", "application/x-ndjson")
	header.Set("Cache-Control", "no-store")
	s := &stream{out: w, control: http.NewResponseController(w), kinds: r.URL.Query()["kind"]}
	h.send(r, s, listener.Events())
	return nil, nil
}

// send writes events until the client has gone, or the agent ends.
func (h *handler) send(r *http.Request, s *stream, events <-chan event.Event) {
	beat := time.NewTimer(h.options.Heartbeat)
	defer beat.Stop()
	for ok := s.flush(); ok; {
		select {
		case e, open := <-events:
			ok = open && s.write(e) && (len(events) > 0 || s.flush())
		case now := <-beat.C:
			ok = s.writeLine(event.Event{Time: now.UTC(), Kind: Heartbeat}) && s.flush()
		case <-r.Context().Done():
			return
		case <-h.options.Closing:
			return
		}
		beat.Reset(h.options.Heartbeat)
	}
}

// stream writes events for one reader.
type stream struct {
	out     http.ResponseWriter
	control *http.ResponseController
	kinds   []string // all if empty
	lost    uint64   // of events that were left out
}

// write writes an event, if it is of the kinds that were asked for. It returns false where the reader has gone.
func (s *stream) write(e event.Event) bool {
	s.lost += e.Lost
	if len(s.kinds) > 0 && !slices.Contains(s.kinds, string(e.Kind)) {
		return true
	}
	e.Lost, s.lost = s.lost, 0
	return s.writeLine(e)
}

func (s *stream) writeLine(e event.Event) bool {
	line, err := json.Marshal(e)
	if err != nil {
		return true // a time or number that JSON does not have: the others are still told
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a server without deadlines has to live without
	_, err = s.out.Write(append(line, '\n'))
	return err == nil
}

func (s *stream) flush() bool {
	err := s.control.Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}
