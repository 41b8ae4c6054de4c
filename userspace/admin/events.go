package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/headgate/headgate/userspace/event"
)

// silence is how long an agent may say nothing in a stream of events before it is taken to be dead.
const silence = 4 * DefaultHeartbeat

// Events is a stream of what an agent tells. It is read by one goroutine.
type Events struct {
	client   *Client
	body     io.ReadCloser
	lines    *bufio.Reader
	watchdog *time.Timer
	cancel   context.CancelCauseFunc
}

// Events begins to listen to what happens from now on: events of some kinds, all if there are none. The stream ends
// with ctx. The caller closes it.
func (c *Client) Events(ctx context.Context, kinds ...event.Kind) (*Events, error) {
	query := url.Values{}
	for _, k := range kinds {
		query.Add("kind", string(k))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watchdog := time.AfterFunc(silence, func() { cancel(context.DeadlineExceeded) })
	response, err := c.ask(ctx, http.MethodGet, "/v1/events", query, nil) //nolint:bodyclose // Close does
	if err != nil {
		watchdog.Stop()
		cancel(nil)
		return nil, err
	}
	return &Events{c, response.Body, bufio.NewReaderSize(response.Body, maxLine), watchdog, cancel}, nil
}

// Next waits for an event and returns it. ErrEnded if the agent has ended the stream.
func (s *Events) Next() (event.Event, error) {
	for {
		var e event.Event
		line, err := s.lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return e, ErrEnded // what is left is not all of a line
		case errors.Is(err, bufio.ErrBufferFull):
			return e, fmt.Errorf("the agent's event is longer than %d KiB; is it one?", maxLine>>10)
		case err != nil:
			return e, s.client.failed(err)
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return e, fmt.Errorf("read the agent's event: %w", err)
		}
		s.watchdog.Reset(silence)
		if e.Kind != Heartbeat {
			return e, nil
		}
	}
}

// Close ends the stream.
func (s *Events) Close() error {
	s.watchdog.Stop()
	s.cancel(nil)
	return s.body.Close()
}
