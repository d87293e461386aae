package modelhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"parley.internal/internal/brain/model"
)

// Attempt is one call of a model over HTTP, whatever words the server uses.
type Attempt struct {
	Provider, Key string
	// Zero times stand for the defaults.
	FirstToken, BetweenTokens time.Duration
	// Send asks the server and leaves what it answered, also when that is a refusal.
	Send func(ctx context.Context, into **http.Response) error
	// Answer makes what reads the answer.
	Answer func() Answer
}

// Answer reads what one server says, in that server's words.
type Answer interface {
	// Read reads one event of the stream; over: nothing comes after it.
	Read(data []byte) (out []model.Event, over bool, err error)
	// Pieces are the events that an answer in one piece would have been.
	Pieces(raw []byte) ([][]byte, error)
	// Close gives what closes the answer: nothing if it is not complete.
	Close(over bool) ([]model.Event, error)
}

// Stream makes the attempt.
func (a Attempt) Stream(ctx context.Context) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		w := Watch(ctx, a.FirstToken, a.BetweenTokens)
		defer w.Stop()
		var resp *http.Response
		err := a.Send(w.Context(), &resp)
		switch {
		case resp != nil && resp.StatusCode >= 300:
			yield(model.Event{}, fromStatus(a.Provider, a.Key, resp))
		case err != nil:
			yield(model.Event{}, fail(a.Provider, ctx, w, err))
		default:
			defer resp.Body.Close()
			r := reading{Attempt: a, ctx: ctx, w: w, resp: resp, answer: a.Answer(), yield: yield}
			r.read()
		}
	}
}

// reading is an answer that is coming in.
type reading struct {
	Attempt
	ctx    context.Context //nolint:containedctx // what is read belongs to one call
	w      *Watchdog
	resp   *http.Response
	answer Answer
	yield  func(model.Event, error) bool
	events int
	over   bool
}

func (r *reading) read() {
	if isWhole(r.resp) {
		r.readWhole()
		return
	}
	// The SDKs' typed streams are not used: they go by the names of events, which some gateways
	// leave out, take an `"error": null` for a failure, and do not tell a cut stream from a whole one.
	stream := ssestream.NewDecoder(r.resp)
	for !r.over && stream.Next() {
		r.w.Pause()
		if !r.piece(stream.Event().Data) {
			return
		}
		r.w.Wait()
	}
	r.finish(stream.Err())
}

// piece hands one event on; false ends the reading.
func (r *reading) piece(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return true
	}
	r.events++
	out, over, err := r.answer.Read(data)
	if err != nil {
		r.yield(model.Event{}, err)
		return false
	}
	r.over = over
	return r.all(out)
}

func (r *reading) all(events []model.Event) bool {
	for _, ev := range events {
		if !r.yield(ev, nil) {
			return false
		}
	}
	return true
}

func (r *reading) readWhole() {
	pieces, err := r.pieces()
	if err != nil {
		r.yield(model.Event{}, err)
		return
	}
	for _, data := range pieces {
		if !r.piece(data) {
			return
		}
	}
	r.over = true
	r.finish(nil)
}

func (r *reading) pieces() ([][]byte, error) {
	raw, failed := readWhole(r.Provider, r.ctx, r.w, r.resp)
	if failed != nil {
		return nil, failed
	}
	return r.answer.Pieces(raw)
}

// finish closes the answer, or says why it is none. One that said why it finished is complete
// even if the connection broke afterwards.
func (r *reading) finish(broken error) {
	end, err := r.answer.Close(r.over)
	switch {
	case err != nil:
		r.yield(model.Event{}, err)
	case len(end) > 0:
		r.all(end)
	case broken != nil:
		r.yield(model.Event{}, fail(r.Provider, r.ctx, r.w, broken))
	case r.events == 0:
		r.yield(model.Event{}, noEvents(r.Provider, r.resp))
	default:
		r.yield(model.Event{}, cutOff(r.Provider))
	}
}

// Decode reads one event as the server's SDK names it. Where the server put an error in its
// place, refused makes an error of that.
func Decode[T any](provider string, data []byte, refused func(json.RawMessage) *model.Error) (T, error) {
	var event T
	var doc struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return event, BadData(provider, "a piece of the answer is not JSON: "+err.Error())
	}
	if len(doc.Error) > 0 && string(doc.Error) != "null" {
		return event, refused(doc.Error)
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return event, BadData(provider, "a piece of the answer makes no sense: "+err.Error())
	}
	return event, nil
}
