package roomagent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/pion/webrtc/v4"

	"parley/protocol/kibitz"
)

// Mesh carries an agent over WebRTC links with every other participant that
// announced a certificate; the room's socket carries the signalling. It is a
// Controller. Nothing passes a link before its certificate, and an agent's key,
// were checked against the roster; what a participant may not perceive is not
// sent to it, and what it may not say is dropped here.
type Mesh struct {
	*Conn
	linkKey *kibitz.PrivateKey
	cert    webrtc.Certificate
	fp      string

	messages listeners[message]
	links    listeners[string]
	blocked  listeners[string]

	// events are run one at a time by the goroutine that owns peers.
	events chan func()
	quit   chan struct{}
	done   sync.WaitGroup
	peers  map[string]*peer
	// early are signals of participants the roster does not show yet: it comes
	// less often.
	early map[string][]json.RawMessage
}

// DialMesh joins a room whose content goes over links.
func DialMesh(ctx context.Context, roomURL string, o DialOptions) (*Mesh, error) {
	return dialMesh(ctx, roomURL, o, o.Key)
}

// dialMesh proves another key on the links than at the door, where a test wants
// a liar; nil proves none.
func dialMesh(ctx context.Context, roomURL string, o DialOptions, linkKey *kibitz.PrivateKey) (*Mesh, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	cert, err := webrtc.GenerateCertificate(key)
	if err != nil {
		return nil, err
	}
	prints, err := cert.GetFingerprints()
	if err != nil || len(prints) == 0 {
		return nil, fmt.Errorf("the certificate has no fingerprint: %w", err)
	}
	o.FP = strings.ToLower(prints[0].Value)
	conn, err := Dial(ctx, roomURL, o)
	if err != nil {
		return nil, err
	}
	m := &Mesh{Conn: conn, linkKey: linkKey, cert: *cert, fp: o.FP, events: make(chan func(), 64), quit: make(chan struct{}), peers: map[string]*peer{}, early: map[string][]json.RawMessage{}}
	m.done.Go(m.loop)
	conn.OnSignal(func(from string, d json.RawMessage) { m.do(func() { m.signalled(from, d) }) })
	conn.OnParticipants(func([]Participant) { m.do(m.meet) })
	conn.OnGrant(func(kibitz.Grant) { m.do(m.grantsCame) })
	conn.OnContent(func(Content) {}) // nobody else listens to the relay
	m.do(m.meet)
	return m, nil
}

// do runs something on the mesh's goroutine, unless it has left.
func (m *Mesh) do(event func()) {
	select {
	case m.events <- event:
	case <-m.quit:
	}
}

func (m *Mesh) loop() {
	for {
		select {
		case event := <-m.events:
			event()
		case <-m.quit:
			for id := range m.peers {
				m.drop(id)
			}
			return
		case <-m.Conn.Done():
			m.closeQuit()
		}
	}
}

func (m *Mesh) closeQuit() {
	select {
	case <-m.quit:
	default:
		close(m.quit)
	}
}

// Leave ends all links and leaves the room.
func (m *Mesh) Leave() error {
	err := m.Conn.Leave()
	m.done.Wait()
	return err
}

// meet dials newcomers, if we have the smaller id, and drops who has left.
func (m *Mesh) meet() {
	self := m.Self().ID
	there := map[string]bool{}
	for _, member := range m.Members() {
		if member.ID == self || member.FP == "" {
			continue
		}
		there[member.ID] = true
		if _, known := m.peers[member.ID]; !known && self < member.ID {
			m.peers[member.ID] = m.newPeer(member.ID, "")
			m.peers[member.ID].offer()
		}
	}
	for id := range m.peers {
		if !there[id] {
			m.drop(id)
		}
	}
	for id := range there {
		waiting := m.early[id]
		delete(m.early, id)
		for _, d := range waiting {
			m.signalled(id, d)
		}
	}
}

// grantsCame opens links that waited to know what the other may do.
func (m *Mesh) grantsCame() {
	for _, p := range m.peers {
		p.check()
	}
}

func (m *Mesh) drop(id string) {
	if p := m.peers[id]; p != nil {
		delete(m.peers, id)
		p.close()
	}
}

func (m *Mesh) member(id string) (kibitz.Member, bool) {
	for _, member := range m.Members() {
		if member.ID == id {
			return member, true
		}
	}
	return kibitz.Member{}, false
}

func (m *Mesh) signalled(from string, d json.RawMessage) {
	if _, ok := m.member(from); !ok {
		if len(m.early) < heldMessages && len(m.early[from]) < heldMessages {
			m.early[from] = append(m.early[from], d)
		}
		return
	}
	s, err := kibitz.ReadSignal(kibitz.Raw(d))
	if err != nil {
		return
	}
	p := m.peers[from]
	switch {
	case s.Type == kibitz.SignalBye:
		if p != nil && p.link == s.Link {
			m.drop(from)
		}
		return
	case s.Type == kibitz.SignalOffer && (p == nil || p.link != s.Link):
		if member, ok := m.member(from); !ok || member.FP == "" {
			return
		}
		m.drop(from)
		p = m.newPeer(from, s.Link)
		m.peers[from] = p
	case p == nil || p.link != s.Link:
		return
	}
	if err := p.signalled(s); err != nil {
		m.drop(from)
	}
}

// Broadcast sends app data to everybody who may perceive it.
func (m *Mesh) Broadcast(ctx context.Context, data json.RawMessage) error {
	return m.SendTo(ctx, "", data)
}

// SendTo sends app data over the link with one participant.
func (m *Mesh) SendTo(ctx context.Context, to string, data json.RawMessage) error {
	c := content(kibitz.ContentApp, map[string]any{"data": data})
	opened, err := kibitz.OpenContent(kibitz.Raw(c))
	if err != nil {
		return err
	}
	if right := opened.Right(); !m.Grant().Has(right) {
		return &DeniedError{Code: string(kibitz.ActDenied), Reason: "grant lacks " + string(right)}
	}
	sent := make(chan error, 1)
	m.do(func() { sent <- m.deliver(to, c) })
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-m.quit:
		return ErrLeft
	}
}

func (m *Mesh) deliver(to string, c json.RawMessage) error {
	if to == "" {
		for id, p := range m.peers {
			if m.GrantOf(id).Has(kibitz.ReadChat) {
				p.send(c)
			}
		}
		return nil
	}
	p := m.peers[to]
	switch {
	case p == nil:
		return &DeniedError{Code: string(kibitz.ToUnknown), Reason: "no link with that participant"}
	case !m.GrantOf(to).Has(kibitz.ReceiveDirected):
		return &DeniedError{Code: string(kibitz.PerceiveDenied), Reason: "grant lacks " + string(kibitz.ReceiveDirected)}
	}
	p.send(c)
	return nil
}

// received hands on what a checked peer sent, if it may say it.
func (m *Mesh) received(from string, data []byte) {
	opened, err := kibitz.OpenContent(kibitz.Raw(data))
	if err != nil {
		return
	}
	if !m.GrantOf(from).Has(opened.Right()) {
		m.blocked.call(from)
		return
	}
	var c struct {
		K    kibitz.ContentKind `json:"k"`
		Data json.RawMessage    `json:"data"`
	}
	if json.Unmarshal(data, &c) == nil && c.K == kibitz.ContentApp {
		m.messages.call(message{c.Data, from})
	}
}

// OnMessage is told app data that came over links.
func (m *Mesh) OnMessage(fn func(data json.RawMessage, from string)) (unsubscribe func()) {
	return m.messages.add(func(v message) { fn(v.data, v.from) })
}

// OnLink is told whom a checked link stands with, those that stand already first.
func (m *Mesh) OnLink(fn func(id string)) (unsubscribe func()) {
	added := make(chan func(), 1)
	m.do(func() {
		for id, p := range m.peers {
			if p.checked {
				fn(id)
			}
		}
		added <- m.links.add(fn)
	})
	select {
	case unsubscribe = <-added:
		return unsubscribe
	case <-m.quit:
		return func() {}
	}
}

// OnBlocked is told who said something it may not.
func (m *Mesh) OnBlocked(fn func(id string)) (unsubscribe func()) { return m.blocked.add(fn) }
