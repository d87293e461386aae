package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/pause"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
)

// order is a waiting turn or compaction as the store keeps it.
type order struct {
	Kind     string       `json:"kind"`
	Content  string       `json:"content,omitempty"`
	Files    []model.File `json:"files,omitempty"`
	Guest    string       `json:"guest,omitempty"`
	Cwd      string       `json:"cwd,omitempty"`
	Mode     Mode         `json:"mode,omitempty"`
	Detached bool         `json:"detached,omitempty"`
	NoStream bool         `json:"no_stream,omitempty"`
	Key      string       `json:"key,omitempty"`
	Focus    string       `json:"focus,omitempty"`
	client
	// By is whoever wrote it; the run it makes acts for nobody else.
	By identity.Actor `json:"actor,omitzero"`
}

const (
	orderTurn    = "turn"
	orderCompact = "compact"
)

// turn is an order on its way through a conversation.
type turn struct {
	order
	id string
	// durable: it has a row in the queue.
	durable  bool
	position int
	// accepted hears, once, that the turn is durable or why it is refused.
	accepted chan acceptance
	// done hears how a compaction that somebody waits for ended.
	done       chan compacted
	compaction *compaction

	// Behind the conversation's mu: who follows it, and whether it goes on
	// without them.
	followers int
	// left says that its client was gone before it was accepted.
	left bool
}

// acceptance is the answer to a submitted turn.
type acceptance struct {
	err error
	// join is the run an earlier request with the same key began; replay is how it
	// ended, if it has.
	join   string
	replay *memory.Run
}

// restoredTurn reads what another life of a hub left in the queue. Its client may
// be gone or may follow from elsewhere: it is run either way.
func restoredTurn(w memory.Waiting) (*turn, error) {
	tn := &turn{id: w.Run, durable: true}
	if err := json.Unmarshal(w.Order, &tn.order); err != nil {
		return nil, err
	}
	tn.Detached = true
	return tn, nil
}

func (tn *turn) waiting() memory.Waiting {
	raw, _ := json.Marshal(tn.order) // plain strings: cannot fail
	return memory.Waiting{Run: tn.id, Order: raw}
}

// speaker is the agent that answers.
func (tn *turn) speaker(primary string) string {
	if tn.Guest != "" {
		return tn.Guest
	}
	return primary
}

// Turn accepts a turn. See [API].
func (t *Talk) Turn(ctx context.Context, who identity.Actor, req TurnRequest) (*Run, error) {
	key, err := keyOf(who, req.Key)
	if err != nil {
		return nil, err
	}
	req.Key = key
	if req.Guest == key.Agent {
		req.Guest = "" // an ordinary turn in every respect
	}
	if err := t.admit(ctx, req); err != nil {
		if unknown, ok := errors.AsType[*unknownGuest](err); ok {
			return unknown.run(key, t.modelOf(req.Key.Agent)), nil
		}
		return nil, err
	}
	if t.isClosing() {
		return nil, ErrUnavailable
	}
	if err := t.checkFiles(ctx, who, req.Files); err != nil {
		return nil, err
	}
	conv, err := t.d.Memory.Open(ctx, key, false)
	if err != nil {
		return nil, err
	}
	held, err := t.holdFiles(ctx, who, conv, req.Files)
	if err != nil {
		return nil, err
	}
	tn := &turn{order: order{
		Kind: orderTurn, Content: req.Content, Files: held, Guest: req.Guest, Cwd: req.Cwd, Mode: req.Mode,
		Detached: req.Detached, NoStream: req.NoStream, Key: req.IdempotencyKey, By: who,
		client: client{Tools: req.Tools, Results: req.Results, Brief: req.Brief, Tainted: req.Tainted, Program: req.Program},
	}, left: req.Left}
	return t.submit(ctx, conv, tn)
}

// checkFiles refuses files of others: whoever only knows their digests has no right to them.
func (t *Talk) checkFiles(ctx context.Context, who identity.Actor, digests []string) error {
	switch {
	case len(digests) == 0:
		return nil
	case t.d.Files == nil:
		return files.ErrNotFound
	}
	return t.d.Files.Check(ctx, who, digests...)
}

// holdFiles keeps the files of a turn for its conversation.
func (t *Talk) holdFiles(ctx context.Context, who identity.Actor, conv memory.Conversation, digests []string) (list []model.File, err error) {
	if len(digests) == 0 {
		return nil, nil
	}
	held, err := t.d.Files.HoldFor(ctx, who, files.Conversation(conv.ID), digests...)
	for _, f := range held {
		list = append(list, model.File{Digest: f.Digest, Name: f.Name, Type: f.Type, Size: f.Size})
	}
	return list, err
}

// unknownGuest is a turn whose guest does not exist: it starts and ends, and
// nothing is stored.
type unknownGuest struct {
	name string
	err  error
}

func (e *unknownGuest) Error() string { return e.err.Error() }
func (e *unknownGuest) Unwrap() error { return e.err }

// run ends at once. Every end names a model: that of the agent who was spoken to.
func (e *unknownGuest) run(key Key, m brain.Model) *Run {
	r := newRun(ids.New(), key)
	r.events.put(Event{Kind: Start, Run: r.ID, Agent: e.name})
	r.events.put(Event{
		Kind: End, Run: r.ID, Agent: e.name, Error: e.Error(), Code: CodeNoAgent, Stop: brain.StopModelError,
		Provider: m.Ref.Provider, Model: m.Name, Usage: usageOf(noUsage),
	})
	r.events.close(nil)
	return r
}

// admit refuses what can be refused before anything is stored.
func (t *Talk) admit(ctx context.Context, req TurnRequest) error {
	switch {
	case len(req.Content) > agentfirst.MaxContent:
		return fmt.Errorf("%w: content has %d bytes, at most %d", ErrTooLarge, len(req.Content), agentfirst.MaxContent)
	case !utf8.ValidString(req.Content) || !utf8.ValidString(req.Cwd):
		return fmt.Errorf("%w: the content is not UTF-8", ErrBadRequest)
	case len(req.IdempotencyKey) > 256 || !utf8.ValidString(req.IdempotencyKey):
		return fmt.Errorf("%w: a key has at most 256 bytes of UTF-8", ErrBadRequest)
	case req.Mode > Interrupt:
		return fmt.Errorf("%w: unknown mode %d", ErrBadRequest, req.Mode)
	}
	if err := checkClient(req); err != nil {
		return err
	}
	primary, err := t.agent(req.Key.Agent)
	if err != nil {
		return err
	}
	if !primary.AllowsSender(req.Key.Sender) {
		return fmt.Errorf("%w: %s does not talk with %q", ErrForbidden, primary.Name, req.Key.Sender)
	}
	speaker := primary
	if req.Guest != "" {
		if err := agentfirst.CheckAgent(req.Guest); err != nil {
			return fmt.Errorf("%w: guest: %w", ErrBadRequest, err)
		}
		if speaker, err = t.agent(req.Guest); err != nil {
			return &unknownGuest{req.Guest, err}
		}
		if !speaker.AllowsSender(req.Key.Sender) {
			return fmt.Errorf("%w: %s does not talk with %q", ErrForbidden, speaker.Name, req.Key.Sender)
		}
	}
	return t.affordable(ctx, speaker)
}

// modelOf is the model an agent would answer with; the zero value if it has none.
func (t *Talk) modelOf(agent string) brain.Model {
	a, err := t.d.Agents.Get(agent)
	if err != nil {
		return brain.Model{}
	}
	m, err := t.d.Models.Resolve(a.Model)
	if err != nil {
		return brain.Model{}
	}
	return m
}

// agent finds an agent that can run.
func (t *Talk) agent(name string) (*brain.Agent, error) {
	a, err := t.d.Agents.Get(name)
	if errors.Is(err, brain.ErrNoAgent) {
		return nil, fmt.Errorf("%w: %q", ErrNoAgent, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAgent, err)
	}
	return a, nil
}

// submit brings a turn to the conversation's owner, wherever that is.
func (t *Talk) submit(ctx context.Context, conv memory.Conversation, tn *turn) (*Run, error) {
	for range moveTries {
		c, err := t.load(ctx, conv.ID)
		var held *lease.HeldError
		switch {
		case errors.As(err, &held):
			run, err := t.cluster.forwardTurn(ctx, held.Owner, conv, tn)
			if !moved(err) {
				return run, err
			}
			if err := pause.For(ctx, movePause); err != nil {
				return nil, err
			}
			continue
		case errors.Is(err, memory.ErrNotFound):
			// Deleted between finding and loading it: the turn makes a new one.
			if conv, err = t.d.Memory.Open(ctx, conv.Key, conv.Hidden); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		}
		run, err := c.submit(ctx, tn)
		if errors.Is(err, owner.ErrGone) {
			continue
		}
		return run, err
	}
	return nil, ErrUnavailable
}

// A hub that died keeps its conversations for its lease's time to live; whoever
// wants one meanwhile waits that long.
const (
	movePause = 250 * time.Millisecond
	moveTries = 36
)
