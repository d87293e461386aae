package seat

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/room"
	"parley.internal/internal/wake"
	"parley.internal/protocol/kibitz"
)

const (
	// ownOrigin is what a chair has dialled, as far as its proofs say: nobody else
	// is bound to it.
	ownOrigin = "https://seat.invalid"
	// maxMail is how many frames wait for a chair; more, and it enters anew.
	maxMail = 4096
)

// guest is what sits on a chair. All of it runs on the chair's goroutine.
type guest interface {
	// meta is what it says about itself.
	meta() map[string]any
	// frame is told what comes, once the chair has learnt from it.
	frame(f kibitz.Frame)
	// stop ends what it has started.
	stop()
}

// chair is a connection to a room without a socket: one goroutine that owns
// everything but the mailbox.
type chair struct {
	room string
	name string
	key  *kibitz.PrivateKey

	connection room.Connection
	guest      guest
	self       *kibitz.Self
	grants     map[string]kibitz.Grant
	members    []kibitz.Member
	next       int64
	answers    map[int64]func(*kibitz.Nak)
	// resume and since take up an earlier presence; remember keeps what takes up
	// this one.
	resume   string
	since    uint64
	remember func(*kibitz.Self)
	nonce    string
	// live is false as long as what was missed is told.
	live bool
	// in is called once the door has answered: nil when it is in or waits.
	in  func(error)
	end error // why it is over

	// tasks are what the guest runs beside the chair.
	tasks sync.WaitGroup

	mu     sync.Mutex
	mail   []any // []byte frames and func()s
	bell   wake.Bell
	closed bool
}

func newChair(roomID, name string, key *kibitz.PrivateKey) *chair {
	return &chair{
		room: roomID, name: name, key: key, bell: wake.New(), answers: map[int64]func(*kibitz.Nak){},
		grants: map[string]kibitz.Grant{}, in: func(error) {}, remember: func(*kibitz.Self) {},
	}
}

// Send implements room.Link.
func (c *chair) Send(o *room.Out) { c.post(o.Data) }

// Close implements room.Link.
func (c *chair) Close(int, string) { c.post(nil) }

// Admitted implements room.Link.
func (c *chair) Admitted() {}

// post puts something into the mailbox: a frame, a func() to run, or nil for the
// end. It never blocks.
func (c *chair) post(what any) {
	c.mu.Lock()
	switch {
	case c.closed:
	case what == nil || len(c.mail) >= maxMail:
		c.mail, c.closed = append(c.mail, nil), true
	default:
		c.mail = append(c.mail, what)
	}
	c.mu.Unlock()
	c.bell.Ring()
}

func (c *chair) collect() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	mail := c.mail
	c.mail = nil
	return mail
}

// sit enters the room, by nothing but the key, and stays until it ends or ctx
// does. The error tells why it ended; a *kibitz.Refusal is the room's own word.
func (c *chair) sit(ctx context.Context, rooms room.API) error {
	connection, err := rooms.Enter(ctx, room.Entry{Room: c.room, Link: c, Origin: ownOrigin, Address: "hub"})
	if err != nil {
		return err
	}
	c.connection = connection
	defer func() {
		c.guest.stop()
		connection.Gone()
		c.tasks.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err() // away, not gone: it is taken up after a restart, or by another hub
		case <-c.bell:
		}
		for _, m := range c.collect() {
			switch m := m.(type) {
			case nil:
				if c.end == nil {
					c.end = room.ErrUnavailable
				}
				return c.end
			case func():
				m()
			case []byte:
				if frame, err := kibitz.DecodeHub(m); err == nil {
					c.learn(frame)
				}
			}
		}
	}
}

// learn learns from a frame and hands it on.
func (c *chair) learn(frame kibitz.Frame) {
	switch f := frame.(type) {
	case *kibitz.Hello:
		c.greeted(f.Nonce)
	case *kibitz.Challenge:
		c.prove(f.Nonce)
	case *kibitz.Lobby:
		c.door(f)
	case *kibitz.Self:
		c.self = f
		c.grants[f.ID] = f.Grant
		c.remember(f)
	case *kibitz.Live:
		c.live = true
	case *kibitz.Roster:
		c.members = f.Members
	case *kibitz.Caps:
		c.grants = f.Grants
	case *kibitz.Kick:
		c.end = &kibitz.Refusal{Code: f.Code, Reason: f.Reason}
	case *kibitz.Ping:
		c.write(&kibitz.Pong{N: f.N})
	case *kibitz.Ack:
		c.answered(f.N, nil)
	case *kibitz.Nak:
		c.answered(f.N, f)
	}
	if c.self != nil {
		c.guest.frame(frame)
	}
}

// greeted takes up the earlier presence, if there is one, with what a host has
// allowed it.
func (c *chair) greeted(nonce string) {
	c.nonce = nonce
	if c.resume == "" {
		c.announce()
		return
	}
	proof, err := c.proof(nonce)
	if err != nil {
		c.fail(err)
		return
	}
	c.write(&kibitz.Resume{Resume: c.resume, Since: c.since, AgentAssertion: proof})
}

func (c *chair) fail(err error) {
	c.end = err
	c.post(nil)
}

func (c *chair) door(f *kibitz.Lobby) {
	if f.Code == kibitz.ResumeUnknown {
		c.resume = ""
		c.announce() // too long away
		return
	}
	if f.Status == kibitz.LobbyAdmitted || f.Status == kibitz.LobbyWaiting {
		c.in(nil)
		return
	}
	c.end = &kibitz.Refusal{Code: f.Code, Reason: f.Reason}
	c.in(c.end)
	c.post(nil)
}

func (c *chair) announce() {
	proof, err := c.proof(c.nonce)
	if err != nil {
		c.fail(err)
		return
	}
	key, _ := json.Marshal(c.key.Public()) // a public key always has a JWK
	v := c.voice()
	v.Name, v.AgentKey, v.AgentAssertion = &c.name, key, proof
	c.write(v)
}

// voice is an announce with what the guest says about itself.
func (c *chair) voice() *kibitz.Voice {
	on := true
	v := &kibitz.Voice{On: &on}
	v.Meta, _ = json.Marshal(c.guest.meta()) // words and booleans
	return v
}

func (c *chair) prove(nonce string) {
	if proof, err := c.proof(nonce); err == nil {
		on := true
		v := &kibitz.Voice{On: &on}
		v.AgentAssertion = proof
		c.write(v)
	}
}

func (c *chair) proof(nonce string) (string, error) {
	return kibitz.SignAssertion(c.key, c.room, kibitz.ChannelFingerprint(ownOrigin, c.room, nonce), time.Now())
}

func (c *chair) write(f kibitz.Frame) {
	if data, err := kibitz.Encode(f); err == nil {
		c.connection.Receive(data)
	}
}

// send sends content; done is told on the chair's goroutine, with a nak if it was
// refused.
func (c *chair) send(content map[string]any, to string, done func(*kibitz.Nak)) {
	data, err := json.Marshal(content)
	if err != nil {
		done(&kibitz.Nak{Code: kibitz.ContentBad, Reason: err.Error()})
		return
	}
	c.next++
	c.answers[c.next] = done
	c.write(&kibitz.Send{N: c.next, To: to, C: data})
}

func (c *chair) answered(n int64, no *kibitz.Nak) {
	if done := c.answers[n]; done != nil {
		delete(c.answers, n)
		done(no)
	}
}

// may reports what the chair's own grant has.
func (c *chair) may(what kibitz.Capability) bool {
	return c.self != nil && c.grants[c.self.ID].Has(what)
}

func (c *chair) member(id string) (kibitz.Member, bool) {
	at := slices.IndexFunc(c.members, func(m kibitz.Member) bool { return m.ID == id })
	if at < 0 {
		return kibitz.Member{}, false
	}
	return c.members[at], true
}
