package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/protocol/viber"
)

// askTime bounds a question to all hubs.
const askTime = 5 * time.Second

// What a terminal is asked, and what a hub is.
const (
	opInput  = "input"
	opResize = "resize"
	opEnd    = "end"
	opRead   = "read"

	opList       = "list"
	opCount      = "count"
	opRecordings = "recordings"
	opRecording  = "recording"
)

// question comes from a hub of this cluster. That hub has checked who asks, and its word
// for it is believed as our own.
type question struct {
	Op    string         `json:"op"`
	Who   identity.Actor `json:"who"`
	View  string         `json:"view,omitzero"`
	Opts  AttachOptions  `json:"opts,omitzero"`
	Data  []byte         `json:"data,omitzero"`
	Size  viber.Size     `json:"size,omitzero"`
	After int64          `json:"after,omitzero"`
	ID    string         `json:"id,omitzero"`
	Wait  time.Duration  `json:"wait,omitzero"`
}

type answer struct {
	Size   viber.Size `json:"size,omitzero"`
	Output Output     `json:"output,omitzero"`
	// Frame is an event of a view.
	Frame      []byte           `json:"frame,omitzero"`
	List       []viber.Terminal `json:"list,omitzero"`
	Count      int              `json:"count,omitzero"` // how many of a person's run there, or are about to
	Recordings []Recording      `json:"recordings,omitzero"`
	Data       []byte           `json:"data,omitzero"`
}

// newThings is how terminals of other hubs are reached. A terminal is bound to the hub
// that has its process.
func (ts *Terminals) newThings() *owner.Things[*terminal, question, answer] {
	k := owner.Kind[*terminal, question, answer]{
		Name: "terminal", Bound: true, Do: ts.answer, DoHub: ts.answerHub, Follow: ts.lend,
		Unowned: func(context.Context, string) error { return ErrNotFound },
		Holds:   func(*terminal) *lease.Lease { return nil },
	}
	for _, c := range codes {
		k.Errors = append(k.Errors, owner.Error(string(c.code), c.err))
	}
	return owner.New(owner.Deps{Bus: ts.d.Bus, Leases: ts.d.Leases, Clustered: true, Log: ts.d.Log}, k)
}

// elsewhere asks the hub that has a terminal, if there may be one.
func (ts *Terminals) elsewhere(ctx context.Context, id string, q question) (answer, error) {
	if ts.things == nil {
		return answer{}, ErrNotFound
	}
	a, err := ts.things.Ask(ctx, id, q)
	return a, orGone(err)
}

// orGone: a terminal whose hub does not answer is gone, as its process is or will be.
func orGone(err error) error {
	if errors.Is(err, owner.ErrMoving) || errors.Is(err, owner.ErrSilent) || errors.Is(err, owner.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// everywhere asks all other hubs the same; one that does not answer is left out.
func (ts *Terminals) everywhere(ctx context.Context, q question) []owner.HubAnswer[answer] {
	if ts.things == nil {
		return nil
	}
	all, err := ts.things.AskHubs(ctx, askTime, q)
	if err != nil {
		ts.d.Log.Warn("terminals of other hubs are left out", "error", err)
	}
	return all
}

// answer is one question of another hub about a terminal of ours.
func (ts *Terminals) answer(ctx context.Context, t *terminal, q question) (a answer, err error) {
	if !reaches(q.Who, t) {
		return a, ErrNotFound
	}
	switch q.Op {
	case opInput:
		err = ts.Input(ctx, q.Who, t.info.ID, q.Data)
	case opEnd:
		err = ts.hangUp(ctx, q.Who, t)
	case opRead:
		a.Output, err = ts.Read(ctx, q.Who, t.info.ID, q.After, q.Wait)
	case opResize:
		if q.View != "" {
			a.Size, err = t.resizeView(ctx, q.View, q.Size)
		} else {
			a.Size, err = ts.Resize(ctx, q.Who, t.info.ID, q.Size)
		}
	default:
		err = errors.New("an unknown question about a terminal")
	}
	return a, err
}

// answerHub is one question of another hub about all of ours.
func (ts *Terminals) answerHub(ctx context.Context, q question) (a answer, err error) {
	switch q.Op {
	case opCount:
		a.Count = ts.count(q.Who.Person.ID)
	case opRecordings:
		a.Recordings, err = ts.d.Recordings.List(q.Who)
	case opRecording:
		return ts.piece(q)
	default:
		a.List = ts.local(ctx, q.Who)
	}
	return a, err
}
