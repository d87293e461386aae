package roomagent

import (
	"context"
	"encoding/json"

	"parley.internal/protocol/kibitz"
)

func content(kind kibitz.ContentKind, members map[string]any) json.RawMessage {
	members["k"] = kind
	data, _ := json.Marshal(members) // maps of strings and JSON: it cannot fail
	return data
}

// Broadcast sends app data to everybody.
func (c *Conn) Broadcast(ctx context.Context, data json.RawMessage) error {
	return c.SendTo(ctx, "", data)
}

// SendTo sends app data to one participant.
func (c *Conn) SendTo(ctx context.Context, id string, data json.RawMessage) error {
	_, err := c.Send(ctx, content(kibitz.ContentApp, map[string]any{"data": data}), id)
	return err
}

// Chat says a line in the room's own chat.
func (c *Conn) Chat(ctx context.Context, text, to string) (seq uint64, err error) {
	return c.Send(ctx, content(kibitz.ContentChat, map[string]any{"text": text}), to)
}

// Publish shows a view of the app to everybody, or to one.
func (c *Conn) Publish(ctx context.Context, view json.RawMessage, to string) error {
	data, err := kibitz.ViewEnvelope(kibitz.Raw(view))
	if err != nil {
		return err
	}
	return c.SendTo(ctx, to, json.RawMessage(data))
}

// RegisterSchema publishes how to read the app's views.
func (c *Conn) RegisterSchema(ctx context.Context, name, version string, schema json.RawMessage) error {
	_, err := c.Send(ctx, content(kibitz.ContentSchema, map[string]any{"name": name, "version": version, "schema": schema}), "")
	return err
}

// SetMeta replaces what the agent says about itself.
func (c *Conn) SetMeta(ctx context.Context, meta map[string]any) error {
	c.mu.Lock()
	c.meta = meta
	in := c.in
	c.mu.Unlock()
	if !in {
		return nil // announced with the rest
	}
	raw, err := c.metaOf(meta)
	if err != nil {
		return err
	}
	on := true
	_, err = c.ask(ctx, func(n int64) kibitz.Frame {
		v := &kibitz.Voice{On: &on}
		v.N, v.Meta = n, raw
		return v
	}, false)
	return err
}

// Grants changes what a participant may do; only a host may. Nil clears.
func (c *Conn) Grants(ctx context.Context, id string, g *kibitz.Grant) error {
	raw := kibitz.Raw("null")
	if g != nil {
		data, err := json.Marshal(*g)
		if err != nil {
			return err
		}
		raw = data
	}
	_, err := c.ask(ctx, func(n int64) kibitz.Frame { return &kibitz.SetGrant{N: n, ID: id, Grant: raw} }, false)
	return err
}

// Command gives a host's order.
func (c *Conn) Command(ctx context.Context, op kibitz.Op, target string) error {
	_, err := c.ask(ctx, func(n int64) kibitz.Frame { return &kibitz.Mod{N: n, Op: op, Target: target} }, false)
	return err
}

// Signal carries a link's offer, answer or candidate to another participant.
func (c *Conn) Signal(ctx context.Context, to string, d json.RawMessage) error {
	_, err := c.ask(ctx, func(n int64) kibitz.Frame { return &kibitz.Sig{N: n, To: to, D: kibitz.Raw(d)} }, false)
	return err
}

// OnSignal is told what others signal.
func (c *Conn) OnSignal(fn func(from string, d json.RawMessage)) (unsubscribe func()) {
	return c.signals.add(func(f *kibitz.Sig) { fn(f.From, json.RawMessage(f.D)) })
}

// Peers is what goes peer to peer in this room.
func (c *Conn) Peers() kibitz.MeshPolicy {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mesh
}

// ReportBlocked tells the room what somebody sent over a link without the right
// to; what is the content's word in the audit trail.
func (c *Conn) ReportBlocked(ctx context.Context, id, what string) error {
	_, err := c.ask(ctx, func(n int64) kibitz.Frame { return &kibitz.Blocked{N: n, ID: id, C: what} }, false)
	return err
}

// OnMessage is told app data.
func (c *Conn) OnMessage(fn func(data json.RawMessage, from string)) (unsubscribe func()) {
	defer c.deliver.release()
	return c.messages.add(func(m message) { fn(m.data, m.from) })
}

// OnContent is told everything, in order.
func (c *Conn) OnContent(fn func(Content)) (unsubscribe func()) {
	defer c.deliver.release()
	return c.contents.add(fn)
}

// OnParticipants is told who is there, when it changes.
func (c *Conn) OnParticipants(fn func([]Participant)) (unsubscribe func()) { return c.rosters.add(fn) }

// Participants is who is there.
func (c *Conn) Participants() []Participant {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Participant, len(c.members))
	for i, m := range c.members {
		list[i] = Participant{ID: m.ID, Name: m.Name, Kind: m.Kind, Meta: json.RawMessage(m.Meta)}
	}
	return list
}

// Members is who is there, with everything the room tells.
func (c *Conn) Members() []kibitz.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]kibitz.Member(nil), c.members...)
}

// OnSchema is told schemas as they are published.
func (c *Conn) OnSchema(fn func(Schema)) (unsubscribe func()) { return c.schemas.add(fn) }

// Schemas are those published so far.
func (c *Conn) Schemas() []Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Schema(nil), c.known...)
}

// OnGrant is told when rights change.
func (c *Conn) OnGrant(fn func(kibitz.Grant)) (unsubscribe func()) { return c.grants.add(fn) }

// Grant is what this participant may do.
func (c *Conn) Grant() kibitz.Grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.self == nil {
		return kibitz.Grant{}
	}
	if g, ok := c.caps[c.self.ID]; ok {
		return g
	}
	return c.self.Grant
}

// GrantOf is what somebody may do, as far as this participant may know.
func (c *Conn) GrantOf(id string) kibitz.Grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caps[id]
}

// grantKnown reports whether the room has told what somebody may do.
func (c *Conn) grantKnown(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.caps[id]
	return ok
}

// Self is who we are in the room.
func (c *Conn) Self() kibitz.Self {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.self == nil {
		return kibitz.Self{}
	}
	return *c.self
}

// Hello is what the room said first.
func (c *Conn) Hello() kibitz.Hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hello == nil {
		return kibitz.Hello{}
	}
	return *c.hello
}

// ICEServers are what the hub gave us for links through NAT; their credentials end, and the
// hub sends new ones before.
func (c *Conn) ICEServers() []kibitz.ICEServer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ice) == 0 && c.hello != nil {
		return c.hello.ICE
	}
	return c.ice
}

// Done is closed when it is all over; Err tells why.
func (c *Conn) Done() <-chan struct{} { return c.gone }

// Err is why the connection ended; ErrLeft after Leave.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.life.Err() != nil {
		return ErrLeft
	}
	return c.err
}

// Leave leaves the room for good and waits until the connection is closed.
func (c *Conn) Leave() error {
	_ = c.write(&kibitz.Leave{})
	c.stop(ErrLeft)
	<-c.gone
	return nil
}
