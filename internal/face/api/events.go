package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/fleet"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// beat is how often a quiet stream says that it lives, so that proxies and the
// page notice when it does not.
const beat = 15 * time.Second

// Live is what the page's event stream is fed from.
type Live struct {
	Inbox  *approval.Inbox
	People *identity.Directory
	// Fleet is for pages about machines, which ask for its changes too; nil is none.
	Fleet fleet.API
	// Stopping is closed when the hub drains: a stream would hold it up.
	Stopping <-chan struct{}
}

// RegisterEvents adds the page's live stream (server-sent events).
func RegisterEvents(a *API, l Live) {
	addRaw(a, access{Tag: "hub"}, rest.Events, l.stream)
}

func (l Live) stream(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	ctx, done := l.follow(r, who)
	defer done()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &sse{w: w, flush: http.NewResponseController(w)}
	var machines <-chan fleet.Change // a page opens one stream, whatever it shows
	if l.Fleet != nil && r.URL.Query().Get("machines") == "1" && who.Scopes.Has(identity.FleetRead) {
		machines = machineChanges(ctx, l.Fleet, who)
	}
	if err := out.send("hello", map[string]any{}); err != nil {
		return nil
	}
	out.keepAlive(ctx, l.changes(ctx, who), machines)
	return nil
}

// follow gives a stream a context that ends with the request, the caller's
// credential or the hub.
func (l Live) follow(r *http.Request, who identity.Actor) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(r.Context())
	live := l.People.Track(who, func(identity.Reason) { cancel() })
	go func() {
		select {
		case <-l.Stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { live.Release(); cancel() }
}

// changes turns the inbox's feed into a channel that ends with ctx.
func (l Live) changes(ctx context.Context, who identity.Actor) <-chan approval.Event {
	events := make(chan approval.Event)
	if !who.Scopes.Has(identity.ApprovalRead) {
		return events // nothing to tell but that the hub lives
	}
	go func() {
		defer close(events)
		for ev, err := range l.Inbox.Watch(ctx, inboxOf(who)) {
			if err != nil {
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// sse writes server-sent events.
type sse struct {
	w     http.ResponseWriter
	flush *http.ResponseController
}

func (s *sse) send(event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, text); err != nil {
		return err
	}
	return s.flush.Flush()
}

// keepAlive writes events until one of the sides has enough.
func (s *sse) keepAlive(ctx context.Context, events <-chan approval.Event, machines <-chan fleet.Change) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var err error
		select {
		case ev, ok := <-events:
			if !ok {
				return
			}
			err = s.approval(ev)
		case c, ok := <-machines:
			if !ok {
				return
			}
			err = s.send(c.Kind, c)
		case <-tick.C:
			_, err = fmt.Fprint(s.w, ": alive\n\n")
			_ = s.flush.Flush()
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (s *sse) approval(ev approval.Event) error {
	switch ev.Kind {
	case approval.Added:
		return s.send("approval", viewApproval(ev.Item))
	case approval.Resolved:
		o := ev.Item.Outcome
		return s.send("approval_resolved", rest.Resolution{ID: ev.Item.ID, Outcome: string(o.State), By: o.By, Reason: o.Reason, Resolved: o.At})
	default:
		return s.send("ready", map[string]any{})
	}
}
