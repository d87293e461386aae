package roomagent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"parley.internal/protocol/kibitz"
)

// Conn is a room over its WebSocket. It is a Controller, a SchemaSource and a
// GrantSource.
type Conn struct {
	opts DialOptions
	addr address
	life context.Context
	stop context.CancelCauseFunc
	// joined is closed at the first admission, gone when it is all over.
	joined, gone chan struct{}
	joinOnce     sync.Once
	err          error // set before gone is closed

	messages listeners[message]
	contents listeners[Content]
	rosters  listeners[[]Participant]
	schemas  listeners[Schema]
	grants   listeners[kibitz.Grant]
	signals  listeners[*kibitz.Sig]
	// deliver is held until somebody listens, so that what a room keeps for
	// newcomers is not lost between Dial and the first callback.
	deliver queue

	mu      sync.Mutex
	socket  *websocket.Conn // nil while there is none
	in      bool            // admitted on this socket
	hello   *kibitz.Hello
	nonce   string
	seal    *kibitz.SealKey
	self    *kibitz.Self
	since   uint64
	meta    map[string]any
	members []kibitz.Member
	mesh    kibitz.MeshPolicy
	caps    map[string]kibitz.Grant
	known   []Schema
	next    int64
	pending map[int64]*pending
	credit  string
	lanes   kibitz.Lanes
	ice     []kibitz.ICEServer
	sign    time.Time // the hub was last heard of
}

// pending is a frame that waits for its answer.
type pending struct {
	frame kibitz.Frame
	// again says that it is sent again after a break: it carries its own id.
	again bool
	done  chan answer
}

type answer struct {
	ack *kibitz.Ack
	err error
}

// Content is what somebody sent, opened if the room is sealed.
type Content struct {
	Seq      uint64
	At       time.Time
	From, To string
	Retained bool
	// C is the content object: {"k":"chat","text":…} and so on.
	C json.RawMessage
}

// run keeps the connection until Leave, a refusal, or a close that is final.
func (c *Conn) run(socket *websocket.Conn) {
	defer close(c.gone)
	defer c.renewing()()
	for attempt := 0; ; {
		err := c.serve(socket)
		c.broken()
		if c.life.Err() != nil {
			c.end(context.Cause(c.life))
			return
		}
		if fatal(err) {
			c.end(err)
			return
		}
		for {
			if !pauseFor(c.life, c.opts.Backoff(attempt)) {
				c.end(context.Cause(c.life))
				return
			}
			attempt++
			if socket, err = c.connect(c.life); err == nil {
				break
			}
			if fatal(err) {
				c.end(err)
				return
			}
		}
		attempt = 0
	}
}

// end fails whoever still waits.
func (c *Conn) end(err error) {
	if status := websocket.CloseStatus(err); status >= 4000 {
		err = &DeniedError{Code: fmt.Sprintf("close.%d", status), Reason: "the room ended the connection"}
	}
	c.mu.Lock()
	c.err = err
	waiting := c.pending
	c.pending = map[int64]*pending{}
	c.mu.Unlock()
	for _, p := range waiting {
		p.done <- answer{err: err}
	}
}

// broken notes that there is no socket; frames that cannot be repeated fail.
func (c *Conn) broken() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket != nil {
		_ = c.socket.CloseNow()
	}
	c.socket, c.in = nil, false
	for n, p := range c.pending {
		if !p.again {
			delete(c.pending, n)
			p.done <- answer{err: ErrNotJoined}
		}
	}
}

// serve reads one socket until it ends.
func (c *Conn) serve(socket *websocket.Conn) error {
	c.mu.Lock()
	c.socket, c.sign = socket, time.Now()
	c.mu.Unlock()
	defer c.watch(socket)()
	stop := context.AfterFunc(c.life, func() { _ = socket.Close(websocket.StatusNormalClosure, "left") })
	defer stop()
	for {
		_, data, err := socket.Read(context.WithoutCancel(c.life))
		if err != nil {
			return err
		}
		c.heard()
		frame, err := kibitz.DecodeHub(data)
		if err != nil {
			continue // a frame of a later time
		}
		if c.opts.OnFrame != nil {
			c.show(frame, data)
		}
		if err := c.frame(frame); err != nil {
			return err
		}
	}
}

// show hands a frame to whoever wants to see them all. What cannot be opened is
// not shown.
func (c *Conn) show(frame kibitz.Frame, data []byte) {
	c.mu.Lock()
	sealed, seal := c.hello != nil && c.hello.Sealed.On(), c.seal
	c.mu.Unlock()
	if from, ok := frame.(*kibitz.From); ok && sealed {
		if seal == nil {
			return
		}
		open := *from
		var err error
		if open.C, err = seal.Unseal(from.C, from.To); err != nil {
			return
		}
		if data, err = kibitz.Encode(&open); err != nil {
			return
		}
		frame = &open
	}
	c.opts.OnFrame(frame, data)
}

func (c *Conn) frame(frame kibitz.Frame) error {
	switch f := frame.(type) {
	case *kibitz.Hello:
		return c.greeted(f)
	case *kibitz.Lobby:
		return c.door(f)
	case *kibitz.Self:
		c.admitted(f)
	case *kibitz.ICE:
		c.setICE(f.ICE)
	case *kibitz.Roster:
		c.setRoster(f)
	case *kibitz.Caps:
		c.setCaps(f)
	case *kibitz.From:
		c.content(f)
	case *kibitz.Live:
		return errors.Join(c.showLanes(), c.sendAgain())
	case *kibitz.Ack:
		c.answered(f.N, answer{ack: f})
	case *kibitz.Nak:
		c.answered(f.N, answer{err: refusal(f)})
	case *kibitz.Challenge:
		return c.proveAgain(f.Nonce)
	case *kibitz.Sig:
		c.signals.call(f)
	case *kibitz.Kick:
		return &DeniedError{Code: string(f.Code), Reason: f.Reason}
	case *kibitz.Ping:
		return c.write(&kibitz.Pong{N: f.N})
	}
	return nil
}

func refusal(f *kibitz.Nak) error {
	if f.Code == kibitz.LimitRate {
		return &RateError{RetryAfter: time.Duration(f.RetryMs) * time.Millisecond}
	}
	return &DeniedError{Code: string(f.Code), Reason: f.Reason}
}

func (c *Conn) greeted(f *kibitz.Hello) error {
	c.mu.Lock()
	c.hello, c.nonce = f, f.Nonce
	c.setMesh(f.Mesh)
	if c.addr.secret != "" && c.seal == nil {
		secret, err := kibitz.ParseSecret(c.addr.secret)
		if err == nil {
			c.seal, err = kibitz.NewSealKey(secret, f.Room)
		}
		if err != nil {
			c.mu.Unlock()
			return &DeniedError{Code: string(kibitz.SealRequired), Reason: err.Error()}
		}
	}
	self, since := c.self, c.since
	c.mu.Unlock()
	if self == nil {
		return c.announce()
	}
	proof, err := c.proof(f.Nonce)
	if err != nil {
		return err
	}
	credit, err := c.paid()
	if err != nil {
		return err
	}
	return c.write(&kibitz.Resume{Resume: self.Resume, Since: since, AgentAssertion: proof, AgentCredit: credit})
}

func (c *Conn) announce() error {
	c.mu.Lock()
	meta, nonce := c.meta, c.nonce
	c.mu.Unlock()
	on := true
	v := &kibitz.Voice{On: &on}
	v.Name, v.JWT, v.AgentToken, v.AgentChain, v.FP = &c.opts.Name, c.opts.JWT, c.opts.AgentToken, c.opts.AgentChain, c.opts.FP
	var err error
	if v.AgentCredit, err = c.paid(); err != nil {
		return err
	}
	if v.Meta, err = c.metaOf(meta); err != nil {
		return err
	}
	if c.opts.Want != nil {
		if v.Want, err = json.Marshal(*c.opts.Want); err != nil {
			return err
		}
	}
	if c.opts.Key != nil {
		if v.AgentKey, err = json.Marshal(c.opts.Key.Public()); err != nil {
			return err
		}
	}
	if v.AgentAssertion, err = c.proof(nonce); err != nil {
		return err
	}
	return c.write(v)
}

// metaOf is what the agent says about itself: at least that it is one.
func (c *Conn) metaOf(meta map[string]any) (kibitz.Raw, error) {
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	if !c.opts.Person {
		meta["role"] = "agent"
	}
	return json.Marshal(meta)
}

// proof binds the agent's key to this connection; empty without a key.
func (c *Conn) proof(nonce string) (string, error) {
	if c.opts.Key == nil {
		return "", nil
	}
	c.mu.Lock()
	room := c.hello.Room
	c.mu.Unlock()
	return kibitz.SignAssertion(c.opts.Key, room, kibitz.ChannelFingerprint(c.addr.origin, room, nonce), time.Now())
}

func (c *Conn) proveAgain(nonce string) error {
	c.mu.Lock()
	c.nonce = nonce
	c.mu.Unlock()
	proof, err := c.proof(nonce)
	if err != nil {
		return err
	}
	on := true
	v := &kibitz.Voice{On: &on}
	v.AgentAssertion = proof
	return c.write(v)
}

func (c *Conn) door(f *kibitz.Lobby) error {
	switch {
	case f.Status == kibitz.LobbyWaiting || f.Status == kibitz.LobbyAdmitted:
		return nil
	case f.Code == kibitz.ResumeUnknown:
		// Too long away: come in anew.
		c.mu.Lock()
		c.self, c.known = nil, nil
		c.mu.Unlock()
		return c.announce()
	default:
		return &DeniedError{Code: string(f.Code), Reason: f.Reason}
	}
}

func (c *Conn) admitted(f *kibitz.Self) {
	c.mu.Lock()
	if c.self == nil || c.self.ID != f.ID {
		c.since, c.known = f.Seq, nil
	}
	c.self, c.in, c.ice = f, true, f.ICE
	c.mu.Unlock()
}

func (c *Conn) setICE(servers []kibitz.ICEServer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ice = servers
}

func (c *Conn) setRoster(f *kibitz.Roster) {
	c.mu.Lock()
	c.members = f.Members
	c.setMesh(f.Mesh)
	c.mu.Unlock()
	list := c.Participants()
	c.deliver.do(func() { c.rosters.call(list) })
}

// setMesh keeps what goes peer to peer; a hub that says nothing relays.
func (c *Conn) setMesh(m *kibitz.MeshPolicy) {
	if m != nil {
		c.mesh = *m
	}
}

func (c *Conn) setCaps(f *kibitz.Caps) {
	c.mu.Lock()
	c.caps = f.Grants
	c.mu.Unlock()
	// Roster and grants are known: from here on the agent is in.
	c.joinOnce.Do(func() { close(c.joined) })
	mine := c.Grant()
	c.deliver.do(func() { c.grants.call(mine) })
}

func (c *Conn) content(f *kibitz.From) {
	c.mu.Lock()
	c.since = max(c.since, f.Seq)
	sealed, seal := c.hello != nil && c.hello.Sealed.On(), c.seal
	c.mu.Unlock()
	plain := f.C
	if sealed {
		if seal == nil {
			return
		}
		opened, err := seal.Unseal(f.C, f.To)
		if err != nil {
			return // who cannot open a box drops it
		}
		plain = opened
	}
	var c0 struct {
		K       string          `json:"k"`
		Data    json.RawMessage `json:"data"`
		Name    string          `json:"name"`
		Version string          `json:"version"`
		Schema  json.RawMessage `json:"schema"`
	}
	if json.Unmarshal(plain, &c0) != nil {
		return
	}
	all := Content{Seq: f.Seq, At: time.UnixMilli(f.TS), From: f.From, To: f.To, Retained: f.Retained, C: json.RawMessage(plain)}
	c.deliver.do(func() { c.contents.call(all) })
	switch kibitz.ContentKind(c0.K) {
	case kibitz.ContentApp:
		c.deliver.do(func() { c.messages.call(message{c0.Data, f.From}) })
	case kibitz.ContentSchema:
		s := Schema{Name: c0.Name, Version: c0.Version, Schema: c0.Schema, From: f.From}
		c.mu.Lock()
		c.known = replaceSchema(c.known, s)
		c.mu.Unlock()
		c.deliver.do(func() { c.schemas.call(s) })
	}
}

func replaceSchema(list []Schema, s Schema) []Schema {
	out := make([]Schema, 0, len(list)+1)
	for _, old := range list {
		if old.From != s.From || old.Name != s.Name {
			out = append(out, old)
		}
	}
	return append(out, s)
}

func (c *Conn) answered(n int64, a answer) {
	c.mu.Lock()
	p := c.pending[n]
	delete(c.pending, n)
	c.mu.Unlock()
	if p != nil {
		p.done <- a
	}
}

// sendAgain repeats what was never acknowledged, under its own id: the room
// takes each once.
func (c *Conn) sendAgain() error {
	c.mu.Lock()
	var frames []kibitz.Frame
	for _, p := range c.pending {
		if p.again {
			frames = append(frames, p.frame)
		}
	}
	c.mu.Unlock()
	for _, f := range frames {
		if err := c.write(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) write(f kibitz.Frame) error {
	data, err := kibitz.Encode(f)
	if err != nil {
		return err
	}
	if len(data) > kibitz.MaxFrame {
		return ErrTooLarge
	}
	c.mu.Lock()
	socket := c.socket
	c.mu.Unlock()
	if socket == nil {
		return ErrNotJoined
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), 10*time.Second)
	defer cancel()
	return socket.Write(ctx, websocket.MessageText, data)
}

// ask sends a frame and waits for its answer.
func (c *Conn) ask(ctx context.Context, make func(n int64) kibitz.Frame, again bool) (*kibitz.Ack, error) {
	p := &pending{again: again, done: newAnswer()}
	c.mu.Lock()
	if c.err != nil || c.life.Err() != nil {
		c.mu.Unlock()
		return nil, c.Err()
	}
	c.next++
	n := c.next
	p.frame = make(n)
	in := c.in
	c.pending[n] = p
	c.mu.Unlock()
	if in || !again {
		if err := c.write(p.frame); err != nil && (!again || errors.Is(err, ErrTooLarge)) {
			c.forget(n)
			return nil, err
		}
	}
	select {
	case a := <-p.done:
		return a.ack, a.err
	case <-ctx.Done():
		c.forget(n)
		return nil, ctx.Err()
	}
}

// newAnswer has room for the one answer, so that nobody waits to give it.
func newAnswer() chan answer { return make(chan answer, 1) }

func (c *Conn) forget(n int64) {
	c.mu.Lock()
	delete(c.pending, n)
	c.mu.Unlock()
}

// Send sends content, sealed where the room is, and returns its place in the
// room's order.
func (c *Conn) Send(ctx context.Context, content json.RawMessage, to string) (seq uint64, err error) {
	wire := kibitz.Raw(content)
	c.mu.Lock()
	sealed, seal := c.hello != nil && c.hello.Sealed.On(), c.seal
	c.mu.Unlock()
	if sealed {
		if seal == nil {
			return 0, &DeniedError{Code: string(kibitz.SealRequired), Reason: "this room is sealed and its key is missing"}
		}
		var nonce [12]byte
		_, _ = rand.Read(nonce[:])
		if wire, err = seal.Seal(nonce, wire, to); err != nil {
			return 0, err
		}
	}
	id := uuid.NewString()
	ack, err := c.ask(ctx, func(n int64) kibitz.Frame { return &kibitz.Send{N: n, To: to, ID: id, C: wire} }, true)
	if err != nil {
		return 0, err
	}
	return ack.Seq, nil
}
