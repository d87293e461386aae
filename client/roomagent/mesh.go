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
	"time"

	"github.com/pion/webrtc/v4"

	"parley.internal/protocol/kibitz"
)

// A link that failed is tried again a few times, each time a little later.
const (
	linkTries = 5
	linkPause = time.Second
)

// Mesh carries an agent over WebRTC links with every other participant that
// announced a certificate; the room's socket carries the signalling. It is a
// Controller. Nothing passes a link before its certificate, and an agent's key,
// were checked against the roster; what a participant may not perceive is not
// sent to it, and what it may not say is dropped here and reported to the hub.
//
// Content goes over links only where the room's policy says so (mesh.data); else
// the relay carries it, and what comes over a link is dropped.
type Mesh struct {
	*Conn
	linkKey *kibitz.PrivateKey
	cert    webrtc.Certificate
	fp      string

	messages listeners[message]
	contents listeners[Content]
	links    listeners[string]
	blocked  listeners[string]
	// inbox keeps messages until somebody listens, news is everything else.
	inbox, news queue
	reports     chan report

	// events are run one at a time by the goroutine that owns what follows.
	events chan func()
	quit   chan struct{}
	done   sync.WaitGroup
	peers  map[string]*peer
	// tries counts failed links since the last good one, resting are those whose
	// next try is not due yet.
	tries   map[string]int
	resting map[string]bool
	// early are signals of participants the roster does not show yet: it comes
	// less often.
	early map[string][]json.RawMessage
}

type report struct{ id, what string }

// DialMesh joins a room whose content goes over links.
func DialMesh(ctx context.Context, roomURL string, o DialOptions) (*Mesh, error) {
	return dialMesh(ctx, roomURL, o, o.Key)
}

// dialMesh proves another key on the links than at the door, where a test wants
// a liar; nil proves none.
func dialMesh(ctx context.Context, roomURL string, o DialOptions, linkKey *kibitz.PrivateKey) (*Mesh, error) {
	m, err := newMesh(linkKey)
	if err != nil {
		return nil, err
	}
	o.FP = m.fp
	if _, err := dial(ctx, roomURL, o, m.listen); err != nil {
		m.closeQuit()
		m.done.Wait()
		return nil, err
	}
	m.do(m.meet)
	return m, nil
}

// newMesh makes the one certificate of all links.
func newMesh(linkKey *kibitz.PrivateKey) (*Mesh, error) {
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
	return &Mesh{
		linkKey: linkKey, cert: *cert, fp: strings.ToLower(prints[0].Value), inbox: queue{held: true}, reports: make(chan report, 16),
		events: make(chan func(), 64), quit: make(chan struct{}), peers: map[string]*peer{}, tries: map[string]int{}, resting: map[string]bool{},
		early: map[string][]json.RawMessage{},
	}, nil
}

// listen starts on a connection, before anything can come over it.
func (m *Mesh) listen(conn *Conn) {
	m.Conn = conn
	m.done.Go(m.loop)
	m.done.Go(m.report)
	conn.OnSignal(func(from string, d json.RawMessage) { m.do(func() { m.signalled(from, d) }) })
	conn.OnParticipants(func([]Participant) { m.do(m.meet) })
	conn.OnGrant(func(kibitz.Grant) { m.do(m.grantsCame) })
	conn.OnContent(m.tell) // of those without links, and of rooms that relay
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

// report tells the hub what was blocked, one after the other; in a flood it need
// not hear of each.
func (m *Mesh) report() {
	for {
		select {
		case r := <-m.reports:
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			_ = m.ReportBlocked(ctx, r.id, r.what)
			cancel()
		case <-m.quit:
			return
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
		if _, known := m.peers[member.ID]; !known && self < member.ID && !m.resting[member.ID] && m.tries[member.ID] <= linkTries {
			m.peers[member.ID] = m.newPeer(member.ID, "")
			m.peers[member.ID].offer()
		}
	}
	for id := range m.peers {
		if !there[id] {
			m.drop(id)
		}
	}
	for id := range m.tries {
		if !there[id] {
			delete(m.tries, id)
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

// failed drops a link that should stand and tries again later.
func (m *Mesh) failed(id string) {
	m.drop(id)
	m.tries[id]++
	if m.tries[id] > linkTries || m.resting[id] {
		return
	}
	m.resting[id] = true
	time.AfterFunc(linkPause*time.Duration(m.tries[id]), func() {
		m.do(func() {
			delete(m.resting, id)
			m.meet()
		})
	})
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
			m.failed(from)
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
		m.failed(from)
	}
}

// Broadcast sends app data to everybody who may perceive it.
func (m *Mesh) Broadcast(ctx context.Context, data json.RawMessage) error {
	return m.SendTo(ctx, "", data)
}

// SendTo sends app data over the link with one participant. What is sent before
// the link is checked waits for that; when too much waits it is a *RateError.
func (m *Mesh) SendTo(ctx context.Context, to string, data json.RawMessage) error {
	if !m.Peers().Data {
		return m.Conn.SendTo(ctx, to, data)
	}
	c := content(kibitz.ContentApp, map[string]any{"data": data})
	opened, err := kibitz.OpenContent(kibitz.Raw(c))
	if err != nil {
		return err
	}
	if _, err := opened.Check(false, to != ""); err != nil {
		return &DeniedError{Code: string(kibitz.CodeOf(err)), Reason: err.Error()}
	}
	if !m.hubThere() {
		return ErrNotJoined
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
		for _, p := range m.peers {
			_ = p.send(held{c, kibitz.ReadChat}) // one link's full buffer is no reason to keep it from others
		}
		return nil
	}
	p := m.peers[to]
	switch {
	case p == nil:
		return &DeniedError{Code: string(kibitz.ToUnknown), Reason: "no link with that participant"}
	case m.grantKnown(to) && !m.GrantOf(to).Has(kibitz.ReceiveDirected):
		return &DeniedError{Code: string(kibitz.PerceiveDenied), Reason: "grant lacks " + string(kibitz.ReceiveDirected)}
	}
	return p.send(held{c, kibitz.ReceiveDirected})
}

// received hands on what a checked peer sent, if it may say it.
func (m *Mesh) received(from string, data []byte) {
	if !m.Peers().Data || len(data) > kibitz.MaxFrame {
		return
	}
	opened, err := kibitz.OpenContent(kibitz.Raw(data))
	if err != nil {
		return
	}
	member, _ := m.member(from)
	if !m.GrantOf(from).Has(opened.Right()) || opened.IsView() && !member.Publisher {
		m.news.do(func() { m.blocked.call(from) })
		select {
		case m.reports <- report{from, opened.Detail()}:
		default:
		}
		return
	}
	wire, err := opened.Check(false, false)
	if err != nil {
		return
	}
	m.tell(Content{At: time.Now(), From: from, C: json.RawMessage(wire)})
}

func (m *Mesh) tell(c Content) {
	var app struct {
		K    kibitz.ContentKind `json:"k"`
		Data json.RawMessage    `json:"data"`
	}
	m.inbox.do(func() {
		m.contents.call(c)
		if json.Unmarshal(c.C, &app) == nil && app.K == kibitz.ContentApp {
			m.messages.call(message{app.Data, c.From})
		}
	})
}

// OnContent is told everything that came over links, which has no number, or over
// the relay.
func (m *Mesh) OnContent(fn func(Content)) (unsubscribe func()) {
	defer m.inbox.release()
	return m.contents.add(fn)
}

// OnMessage is told app data that came over links, or over the relay.
func (m *Mesh) OnMessage(fn func(data json.RawMessage, from string)) (unsubscribe func()) {
	defer m.inbox.release()
	return m.messages.add(func(v message) { fn(v.data, v.from) })
}

// OnLink is told whom a checked link stands with, those that stand already first.
func (m *Mesh) OnLink(fn func(id string)) (unsubscribe func()) {
	added := make(chan func(), 1)
	m.do(func() {
		var standing []string
		for id, p := range m.peers {
			if p.checked {
				standing = append(standing, id)
			}
		}
		m.news.do(func() {
			added <- m.links.add(fn)
			for _, id := range standing {
				fn(id)
			}
		})
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
