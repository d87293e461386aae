package room

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/protocol/kibitz"
)

// question is what a room is asked, here or by another hub: a call of the API; to take
// in a connection of that hub; or, every other second, which of its connections it
// knows. Who arrives and who calls is believed as that hub has checked it.
type question struct {
	Hub    string   `json:"hub,omitzero"`
	Call   *call    `json:"call,omitzero"`
	Arrive *arrival `json:"arrive,omitzero"`
	Beat   []string `json:"beat,omitzero"`
}

// answer is what it says: a value of the call's own type, or the connections it does not
// know.
type answer struct {
	Value   value    `json:"value,omitzero"`
	Unknown []string `json:"unknown,omitzero"`
}

// value is an answer as the room gave it, or as it came from another hub.
type value struct {
	here any
	raw  json.RawMessage
}

// MarshalJSON writes what the room gave.
func (v value) MarshalJSON() ([]byte, error) { return json.Marshal(v.here) }

// UnmarshalJSON keeps what came.
func (v *value) UnmarshalJSON(data []byte) error {
	v.raw = append(v.raw[:0], data...)
	return nil
}

// valueOf is an answer as the caller wants it.
func valueOf[T any](v value) (t T, err error) {
	if v.raw != nil {
		return t, json.Unmarshal(v.raw, &t)
	}
	t, ok := v.here.(T)
	if !ok {
		return t, errors.New("a room answered something else")
	}
	return t, nil
}

// newThings is how rooms are found, loaded and asked. A question may be put again to the
// next owner: a former one is fenced, and calls say how something shall be.
func (e *Rooms) newThings() *owner.Things[*room, question, answer] {
	return owner.New(owner.Deps{Bus: e.d.Bus, Leases: e.d.Leases, Clustered: e.d.Clustered, Log: e.d.Log}, owner.Kind[*room, question, answer]{
		Name: "room", Load: e.load, Unowned: e.exists, Do: doQuestion, Repeatable: true,
		Holds:  func(r *room) *lease.Lease { return r.lease },
		Errors: []owner.Named{owner.Error("stale", ErrStale), owner.Error("unavailable", ErrUnavailable), owner.ErrorType[*kibitz.Refusal]("refusal")},
	})
}

// doQuestion has a question answered on the room's goroutine.
func doQuestion(ctx context.Context, r *room, q question) (answer, error) {
	var a answer
	var result error
	if err := r.on(ctx, func() { a, result = r.answer(q) }); err != nil {
		return answer{}, err
	}
	return a, result
}

func (r *room) answer(q question) (a answer, err error) {
	switch {
	case q.Call != nil:
		a.Value.here, err = r.do(q.Call)
	case q.Arrive != nil:
		r.arriveOrAttach(&conn{arrival: *q.Arrive, hub: q.Hub, link: r.linkTo(q.Hub, q.Arrive.CID)})
	case len(q.Beat) > 0:
		a.Unknown = r.beat(q.Hub, q.Beat)
	}
	return a, err
}

// ask has a call answered by the room, wherever it is.
func ask[T any](ctx context.Context, e *Rooms, id string, c *call) (t T, err error) {
	a, err := e.rooms.Ask(ctx, id, question{Call: c})
	switch {
	case errors.Is(err, owner.ErrMoving), errors.Is(err, owner.ErrClosed), errors.Is(err, lease.ErrLost):
		return t, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil:
		return t, err
	}
	return valueOf[T](a.Value)
}
