package mmpagent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

// Message is one that arrived, opened.
type Message struct {
	relay.Message
	// Content is what was in it; empty when Problem is set.
	Content mmp.Content
	Plain   []byte
	// Version is the envelope; 0 when it could not even be told.
	Version int
	// Signed says that the sender's key signed it, which only envelope 2 does.
	Signed bool
	// KeyID is the sender's key, if it is signed.
	KeyID string
	// Earlier are keys the sender had before, each of which named the next.
	Earlier []string
	// Level is how far the sender is known: L0 trusted by a person and signed, L1
	// proven at the place, L2 anybody.
	Level string
	// Problem is why it could not be read; see mmp.ReasonOf.
	Problem error

	// handled says that this very message was acknowledged before.
	handled bool
}

// Read makes a message of the message layer, or a note, of what arrived. known
// tells which message types are actions.
func (m Message) Read(known func(action string) bool) (meeting.FromRelay, error) {
	if m.Problem != nil {
		return meeting.FromRelay{}, m.Problem
	}
	return meeting.ReadRelayed(m.Content, meeting.RelayMeta{ID: m.ID, From: m.From, To: m.To, Type: m.MessageType, CreatedAt: m.CreatedAt.Time}, known)
}

// ReceiveOptions say how to receive; the zero value takes ten at once.
type ReceiveOptions struct {
	Limit int
	// Wait keeps the request open until something arrives (≤ 60 s).
	Wait time.Duration
	// Manual leases the messages until Ack, or for Lease (60 s).
	Manual bool
	Lease  time.Duration
}

func (o ReceiveOptions) values(id string) url.Values {
	v := url.Values{"agent_id": {id}}
	if o.Limit > 0 {
		v.Set("limit", fmt.Sprint(o.Limit))
	}
	if o.Wait > 0 {
		v.Set("wait", fmt.Sprint(int(o.Wait/time.Second)))
	}
	if o.Manual {
		v.Set("ack", "manual")
		if o.Lease > 0 {
			v.Set("lease", fmt.Sprint(int(o.Lease/time.Second)))
		}
	}
	return v
}

// Receive takes messages out of the queue and opens them.
func (a *Agent) Receive(ctx context.Context, o ReceiveOptions) ([]Message, error) {
	var out relay.ReceiveAnswer
	if err := a.call(ctx, request{method: "GET", path: "/relay/receive", query: o.values(a.ID())}, &out); err != nil {
		return nil, err
	}
	return a.opened(ctx, o, out)
}

// opened opens what came. What was taken for good is done with.
func (a *Agent) opened(ctx context.Context, o ReceiveOptions, out relay.ReceiveAnswer) ([]Message, error) {
	messages, ids := make([]Message, 0, len(out.Messages)), make([]string, 0, len(out.Messages))
	for _, m := range out.Messages {
		messages, ids = append(messages, a.Open(ctx, m)), append(ids, m.ID)
	}
	switch {
	case len(messages) == 0:
		return messages, nil
	case !o.Manual: // the place has let go of them
		return messages, a.opts.Peers.finish(ids...)
	}
	return messages, a.opts.Peers.Save()
}

// Peek looks at the queue; nothing is opened.
func (a *Agent) Peek(ctx context.Context, limit int) (out relay.PeekAnswer, err error) {
	err = a.call(ctx, request{method: "GET", path: "/relay/peek", query: ReceiveOptions{Limit: limit}.values(a.ID())}, &out)
	return out, err
}

// Status tells how full the queue is.
func (a *Agent) Status(ctx context.Context) (out relay.StatusAnswer, err error) {
	err = a.call(ctx, request{method: "GET", path: "/relay/status", query: url.Values{"agent_id": {a.ID()}}}, &out)
	return out, err
}

// Ack settles leased messages; Release gives them back.
func (a *Agent) Ack(ctx context.Context, ids ...string) (relay.AckAnswer, error) {
	if err := a.opts.Peers.finish(ids...); err != nil {
		return relay.AckAnswer{}, err
	}
	return a.ackOrRelease(ctx, ids, nil)
}

// Release gives leased messages back to the queue.
func (a *Agent) Release(ctx context.Context, ids ...string) (relay.AckAnswer, error) {
	return a.ackOrRelease(ctx, nil, ids)
}

func (a *Agent) ackOrRelease(ctx context.Context, acked, released []string) (out relay.AckAnswer, err error) {
	body := map[string]any{"agent_id": a.ID(), "ids": acked, "release": released}
	err = a.call(ctx, request{method: "POST", path: "/relay/ack", body: body}, &out)
	return out, err
}

// Open opens one relayed message; what goes wrong is its Problem.
func (a *Agent) Open(ctx context.Context, m relay.Message) Message {
	out := Message{Message: m, Level: "L2"}
	if !mmp.HashFits(m.BlobHash, m.Blob) {
		out.Problem = fmt.Errorf("the blob does not fit its hash")
		return out
	}
	env, err := mmp.ParseEnvelope(m.Blob)
	if err != nil {
		out.Problem = err
		return out
	}
	out.Version = env.Version
	if a.ring().RSA == nil {
		out.Problem = ErrUnsigned
		return out
	}
	if env.Version == 1 {
		a.open1(env, &out)
	} else {
		a.open2(ctx, env, &out)
	}
	if out.Problem != nil {
		out.Plain = nil
		return out
	}
	out.Content = mmp.ReadContent(out.Plain)
	if m.SenderProven {
		out.Level = "L1"
	}
	if peer, ok := a.opts.Peers.Get(a.placeName(ctx), m.From); ok && out.Signed && peer.KeyID == out.KeyID && peer.Changed == "" {
		if out.Earlier = peer.Earlier; peer.Trusted {
			out.Level = "L0"
		}
	}
	return out
}

// open1 opens what nobody signed. It names neither its time nor itself, so that it is known
// again by all of it: each is sealed with a key of its own.
func (a *Agent) open1(env *mmp.Envelope, out *Message) {
	if out.Plain, out.Problem = env.Open1(a.ring().RSA); out.Problem != nil {
		return
	}
	again, handled := a.opts.Peers.replayed(mmp.ReplayKey{FromKey: mmp.HashOf(out.Blob).Prefixed(), ID: "1"}, out.ID, a.opts.Now())
	if out.handled = handled; again {
		out.Problem = &mmp.OpenError{Reason: mmp.ReasonReplayed}
	}
}

func (a *Agent) open2(ctx context.Context, env *mmp.Envelope, out *Message) {
	key, _, err := a.Key(ctx, out.From)
	if errors.Is(err, ErrKeyChanged) {
		out.Problem = err
		return
	}
	now := a.opts.Now()
	opened, err := env.Open2(a.ring(), mmp.Incoming{
		Me: a.ID(), From: out.From, Type: out.MessageType, SenderKey: key, Now: now,
		Seen: func(k mmp.ReplayKey) (again bool) {
			again, out.handled = a.opts.Peers.replayed(k, out.ID, now)
			return again
		},
	})
	if err != nil {
		out.Problem = err
		return
	}
	out.Plain, out.Signed, out.KeyID = opened.Plain, true, key.KeyID()
}
