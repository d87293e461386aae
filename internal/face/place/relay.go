package place

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
)

func (r *request) send() (answer, error) {
	req, err := relay.DecodeSend(r.body, r.http.Header.Get("Idempotency-Key"), r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	r.body = nil // the blob is in req now; a large body need not stay for the wait
	out, err := r.d.Place.Send(r.http.Context(), r.who, req)
	if out.Duplicate {
		return answer{http.StatusOK, out}, err
	}
	return created(out, err)
}

func (r *request) receive() (answer, error) {
	q, err := relay.ParseReceiveQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	if q.Wait > 0 {
		if parked := front.Prepare(r.w, r.http); parked != nil {
			return r.poll(q, parked)
		}
	}
	return ok(r.d.Place.Receive(r.http.Context(), r.who, q))
}

// poll hands out what is there. When nothing is, the request waits parked, since
// thousands may wait.
func (r *request) poll(q relay.ReceiveQuery, parked *front.Parked) (answer, error) {
	poll, err := r.d.Place.Poll(r.who, q, parked.Wake)
	if err != nil {
		return answer{}, err
	}
	out, again, err := poll.Look(r.http.Context())
	if err == nil && !again.IsZero() {
		// The request goes; what it asked stays.
		w := &waits{r.Face, poll, r.http.URL.Path, r.route.first}
		if parked.Park(r.w, again, front.Waiting{Look: w.look, Leave: poll.Close}) {
			return answer{}, nil
		}
	}
	poll.Close()
	if !again.IsZero() {
		return ok(r.d.Place.Receive(r.http.Context(), r.who, q))
	}
	return ok(out, err)
}

// waits is a poll that is parked.
type waits struct {
	*Face
	poll  *place.Poll
	path  string
	first bool
}

// look answers unless there is nothing and time is left.
func (p *waits) look(ctx context.Context, w http.ResponseWriter) time.Time {
	r := (&http.Request{Method: get, URL: &url.URL{Path: p.path}}).WithContext(ctx)
	defer p.recovered(w, r, p.first)
	out, again, err := p.poll.Look(ctx)
	switch {
	case err != nil:
		p.fail(w, r, err, p.first)
	case again.IsZero():
		p.write(w, http.StatusOK, out)
	}
	return again
}

func (r *request) peek() (answer, error) {
	q, err := relay.ParseReceiveQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Peek(r.http.Context(), r.who, q))
}

func (r *request) queueStatus() (answer, error) {
	agent, err := board.ParseAgentQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.QueueStatus(r.http.Context(), r.who, agent))
}

func (r *request) relayStats() (answer, error) {
	return ok(r.d.Place.RelayStats(r.http.Context(), r.who))
}

func (r *request) ack() (answer, error) {
	req, err := relay.DecodeAck(r.body, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Ack(r.http.Context(), r.who, req))
}

func (r *request) sent() (answer, error) {
	q, err := relay.ParseSentQuery(r.query, r.who.Agent)
	if err != nil {
		return answer{}, err
	}
	return ok(r.d.Place.Sent(r.http.Context(), r.who, q))
}
