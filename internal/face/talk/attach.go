package talk

import (
	"context"
	"encoding/json"

	"parley.internal/internal/talk"
	wire "parley.internal/protocol/agentfirst"
)

// attachKey names something that goes on until the client has enough of it.
type attachKey struct {
	talk.Key
	// subscription tells those of subscribe_events, which have no key, apart.
	subscription uint64
}

// follow starts something that goes on by itself; the one of the same key before
// it ends.
func (c *conn) follow(k attachKey, fn func(ctx context.Context)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, there := c.attached[k]; there {
		before()
	} else if len(c.attached) >= c.face.limits.Attachments {
		return errManyOpen
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.attached[k] = cancel
	c.work.Go(func() {
		defer cancel()
		fn(ctx)
	})
	return nil
}

// unfollow ends it. It reports whether there was one.
func (c *conn) unfollow(k attachKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel, there := c.attached[k]
	if there {
		cancel()
		delete(c.attached, k)
	}
	return there
}

// attach makes the connection a device of a conversation.
func (r *request) attach() error {
	in := r.msg.GetAttach()
	k := key(in)
	k.Sender = wire.SenderOr(k.Sender, r.who.OwnSender())
	return r.c.follow(attachKey{Key: k}, func(ctx context.Context) {
		r.guard(func() { r.device(ctx, k, in) })
	})
}

func (r *request) device(ctx context.Context, k talk.Key, in *wire.Attach) {
	behind := true // until caught up, what comes is history, and history can wait
	for ev, err := range r.c.face.d.Talk.Attach(ctx, r.who, k, int64(in.GetAfterSeq()), int(in.GetHistory())) {
		if err == nil && behind {
			err = r.c.room(ctx)
		}
		if err != nil {
			if ctx.Err() == nil {
				r.c.unfollow(attachKey{Key: k})
				r.fail(r.lost(err))
			}
			return
		}
		if ev.CaughtUp {
			behind = false
		}
		r.conversation(ev)
	}
	if ctx.Err() == nil {
		r.c.unfollow(attachKey{Key: k})
	}
}

// conversation sends one event to an attached device.
func (r *request) conversation(ev talk.ConversationEvent) {
	out := &wire.ConversationEvent{Agent: ev.Key.Agent, Sender: ev.Key.Sender, Thread: ev.Key.Thread, Seq: number(ev.Seq), RunId: ev.Run}
	merge := false
	switch {
	case ev.Message != nil:
		out.Event = &wire.ConversationEvent_Message{Message: historyMessage(*ev.Message)}
	case ev.CaughtUp:
		out.Event = &wire.ConversationEvent_CaughtUp{CaughtUp: true}
	case ev.Deleted:
		out.Event = &wire.ConversationEvent_Deleted{Deleted: true}
	case ev.Event != nil:
		e := streamEvent(*ev.Event)
		if e == nil {
			return
		}
		out.Event, merge = &wire.ConversationEvent_Stream{Stream: e}, mergeable(*ev.Event)
	default:
		return
	}
	r.send(&wire.ServerMessage{Message: &wire.ServerMessage_ConversationEvent{ConversationEvent: out}},
		"attached/"+ev.Key.Agent+"/"+ev.Key.Sender+"/"+ev.Key.Thread, merge)
}

func (r *request) detach() (*wire.ServerMessage, error) {
	k := key(r.msg.GetDetach())
	k.Sender = wire.SenderOr(k.Sender, r.who.OwnSender())
	r.c.unfollow(attachKey{Key: k})
	return pong(nil)
}

// subscribe gives all activity the client may see, until it leaves.
func (r *request) subscribe() error {
	in := r.msg.GetSubscribeEvents()
	filter := talk.Filter{Agent: in.GetAgent(), Sender: in.GetSender()}
	if filter.Sender != "" && !r.who.Scopes.AllowsSender(filter.Sender, r.who.Sender()) {
		return talk.ErrForbidden
	}
	k := attachKey{subscription: r.id + 1}
	return r.c.follow(k, func(ctx context.Context) {
		r.guard(func() {
			for a, err := range r.c.face.d.Talk.Subscribe(ctx, r.who, filter) {
				if err != nil {
					if ctx.Err() == nil {
						r.c.unfollow(k)
						r.fail(r.lost(err))
					}
					return
				}
				r.activity(a)
			}
		})
	})
}

func (r *request) activity(a talk.Activity) {
	kind, content, ok := activity(a.Event)
	if !ok {
		return
	}
	out := &wire.AgentEvent{
		Agent: a.Speaker, Sender: a.Key.Sender, Thread: a.Key.Thread, Kind: kind, Content: content, Timestamp: moment(a.At), RunId: a.Event.Run,
	}
	if a.Speaker == "" {
		out.Agent = a.Key.Agent
	} else if a.Speaker != a.Key.Agent {
		out.Primary = a.Key.Agent
	}
	r.send(&wire.ServerMessage{Message: &wire.ServerMessage_AgentEvent{AgentEvent: out}}, "event/"+a.Event.Run, mergeable(a.Event))
}

// activity is what a subscriber is told about an event; ok is false for what
// subscriptions leave out.
func activity(ev talk.Event) (kind wire.AgentEventKind, content string, ok bool) {
	switch ev.Kind {
	case talk.Chunk:
		return wire.EventTextDelta, ev.Text, true
	case talk.Thinking:
		return wire.EventThinkingDelta, ev.Text, true
	case talk.ToolStart:
		return wire.EventToolStart, callsJSON(ev), true
	case talk.ToolResult:
		if ev.Result == nil {
			return 0, "", false
		}
		return wire.EventToolResult, ev.Result.Output, true
	case talk.ToolsComplete:
		return wire.EventToolsComplete, "", true
	case talk.End:
		return wire.EventDone, ev.Error, true
	case talk.UserMessage, talk.Steered:
		return wire.EventUserMessage, ev.Text, true
	case talk.Queued:
		return wire.EventQueued, asJSON(map[string]any{"position": ev.Position}), true
	case talk.Ask:
		return wire.EventAsk, asJSON(ev.Ask), true
	case talk.AskResolved:
		return wire.EventAskResolved, asJSON(map[string]any{"ask_id": askID(ev), "by": ev.By}), true
	case talk.Compacted:
		return wire.EventCompacted, asJSON(ev.Compaction), true
	case talk.Titled:
		return wire.EventTitled, ev.Text, true
	case talk.RoundUsage:
		return wire.EventUsage, usageJSON(ev), true
	}
	return 0, "", false
}

func askID(ev talk.Event) string {
	if ev.Ask == nil {
		return ""
	}
	return ev.Ask.ID
}

func callsJSON(ev talk.Event) string {
	type call struct {
		ID        string `json:"call_id,omitempty"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	calls := make([]call, len(ev.Calls))
	for i, c := range ev.Calls {
		calls[i] = call{c.ID, c.Name, c.Arguments}
	}
	return asJSON(calls)
}

func usageJSON(ev talk.Event) string {
	out := map[string]any{"round": ev.Round, "context_used": ev.ContextUsed}
	if ev.ContextLimit > 0 {
		out["context_limit"] = ev.ContextLimit
	}
	if u := ev.Usage; u != nil {
		out["prompt_tokens"], out["completion_tokens"] = u.Prompt, u.Completion
		if u.CostKnown {
			out["cost_micros"] = u.CostMicros
		}
	}
	return asJSON(out)
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // only plain values come here
	}
	return string(b)
}
