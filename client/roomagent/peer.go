package roomagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pion/webrtc/v4"

	"parley.internal/protocol/kibitz"
)

// What a link holds back until it is checked, and how long that may take.
const (
	heldMessages = 256
	heldBytes    = 1 << 20
	proofTime    = 5 * time.Second
	dialTime     = 30 * time.Second
)

// peer is the link with one participant. Only the mesh's goroutine touches it.
type peer struct {
	mesh    *Mesh
	id      string
	link    string
	pc      *webrtc.PeerConnection
	channel interface{ SendText(string) error }
	// fits: the certificate is the roster's; proven: an agent's key is too;
	// checked: and the room has told what the other may do. Messages that come
	// too early wait in inbox.
	fits, proven, checked bool
	inbox                 [][]byte
	held                  []held
	size, heldIn          int
	tracks                []func()
	early                 []webrtc.ICECandidateInit
	timer                 *time.Timer
}

// held is a message with the right that whoever gets it must have.
type held struct {
	data  []byte
	right kibitz.Capability
}

func (m *Mesh) newPeer(id, link string) *peer {
	if link == "" {
		link = uuid.NewString()
	}
	p := &peer{mesh: m, id: id, link: link}
	mine := func(run func()) func() {
		return func() {
			m.do(func() {
				if m.peers[id] == p {
					run()
				}
			})
		}
	}
	broken := mine(func() { m.failed(id) })
	p.timer = time.AfterFunc(dialTime, broken)
	pc, err := m.connection()
	if err != nil {
		go broken()
		return p
	}
	p.pc = pc
	negotiated, number := true, uint16(0)
	channel, err := pc.CreateDataChannel("kbz", &webrtc.DataChannelInit{Negotiated: &negotiated, ID: &number})
	if err != nil {
		go broken()
		return p
	}
	p.channel = channel
	channel.OnOpen(mine(p.opened))
	channel.OnMessage(func(msg webrtc.DataChannelMessage) { mine(func() { p.heard(msg.Data) })() })
	pc.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		mine(func() { p.track(track, receiver) })()
	})
	pc.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c != nil {
			p.signal(kibitz.SignalCandidate, "candidate", c.ToJSON())
		}
	})
	pc.OnConnectionStateChange(func(s webrtc.PeerConnectionState) {
		if s == webrtc.PeerConnectionStateFailed || s == webrtc.PeerConnectionStateClosed {
			go broken()
		}
	})
	return p
}

// connection makes a link's connection, with what the hub gave us for ways through NAT. A
// server that makes no sense to us must not end the link: one without may stand all the same.
func (m *Mesh) connection() (*webrtc.PeerConnection, error) {
	conf := webrtc.Configuration{Certificates: []webrtc.Certificate{m.cert}}
	for _, s := range m.ICEServers() {
		conf.ICEServers = append(conf.ICEServers, webrtc.ICEServer{URLs: s.URLs, Username: s.Username, Credential: s.Credential})
	}
	pc, err := webrtc.NewPeerConnection(conf)
	if err != nil && len(conf.ICEServers) > 0 {
		conf.ICEServers = nil
		return webrtc.NewPeerConnection(conf)
	}
	return pc, err
}

// track hands on a lane once the link is checked, if the other may speak.
func (p *peer) track(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
	lane, ok := laneOf(p.pc, receiver)
	on := p.mesh.opts.OnTrack
	if !ok || on == nil {
		return
	}
	show := func() {
		if p.mesh.GrantOf(p.id).Has(kibitz.Speak) {
			p.mesh.news.do(func() { on(p.id, lane, track) })
		}
	}
	if p.checked {
		show()
		return
	}
	p.tracks = append(p.tracks, show)
}

// signal goes out in the background: the room answers each, and no link waits
// for that.
func (p *peer) signal(kind kibitz.SignalType, member string, value any) {
	d := map[string]any{"link": p.link, "type": kind}
	if member != "" {
		d[member] = value
	}
	data, err := json.Marshal(d)
	if err != nil {
		return
	}
	m := p.mesh
	select {
	case <-m.quit:
		return
	default:
	}
	m.done.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = m.Signal(ctx, p.id, data)
	})
}

func (p *peer) offer() {
	if p.pc == nil {
		return
	}
	if p.receives() {
		for _, lane := range laneOrder {
			if _, err := p.pc.AddTransceiverFromKind(lane.kind(), webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}); err != nil {
				return // the timer drops it
			}
		}
	}
	offer, err := p.pc.CreateOffer(nil)
	if err == nil {
		err = p.pc.SetLocalDescription(offer)
	}
	if err != nil {
		return
	}
	p.signal(kibitz.SignalOffer, "sdp", listening(offer.SDP, p.receives()))
}

func (p *peer) receives() bool { return p.mesh.opts.OnTrack != nil }

func (p *peer) signalled(s *kibitz.Signal) error {
	if p.pc == nil {
		return errors.New("no connection")
	}
	switch s.Type {
	case kibitz.SignalOffer:
		if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: s.SDP}); err != nil {
			return err
		}
		answer, err := p.pc.CreateAnswer(nil)
		if err != nil {
			return err
		}
		if err := p.pc.SetLocalDescription(answer); err != nil {
			return err
		}
		p.signal(kibitz.SignalAnswer, "sdp", listening(answer.SDP, p.receives()))
		return p.flush()
	case kibitz.SignalAnswer:
		if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: s.SDP}); err != nil {
			return err
		}
		return p.flush()
	case kibitz.SignalCandidate:
		var c webrtc.ICECandidateInit
		if err := json.Unmarshal(s.Candidate, &c); err != nil {
			return nil // one bad candidate is no reason to give up
		}
		if p.pc.RemoteDescription() == nil {
			p.early = append(p.early, c)
			return nil
		}
		_ = p.pc.AddICECandidate(c)
	}
	return nil
}

func (p *peer) flush() error {
	for _, c := range p.early {
		_ = p.pc.AddICECandidate(c)
	}
	p.early = nil
	return nil
}

// opened compares the certificate that was really presented with the roster's.
func (p *peer) opened() {
	member, ok := p.mesh.member(p.id)
	if !ok || !sameFingerprint(p.pc.SCTP().Transport().GetRemoteCertificate(), member.FP) {
		p.mesh.failed(p.id)
		return
	}
	if key := p.mesh.linkKey; key != nil {
		proof, err := kibitz.SignAssertion(key, p.mesh.Hello().Room, p.mesh.fp, time.Now())
		if err != nil {
			p.mesh.failed(p.id)
			return
		}
		_ = p.channel.SendText(string(content("link", map[string]any{"assertion": proof})))
	}
	p.fits = true
	if member.Kind != kibitz.Agent {
		p.proven = true
		p.check()
	} else {
		p.timer.Reset(proofTime) // an agent proves its key first
	}
	p.hearAgain()
}

func sameFingerprint(der []byte, fp string) bool {
	if len(der) == 0 {
		return false
	}
	sum := sha256.Sum256(der)
	return kibitz.NormalFingerprint(fp) == strings.ToLower(colons(hex.EncodeToString(sum[:])))
}

func colons(digits string) string {
	var b strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(digits[i : i+2])
	}
	return b.String()
}

// check opens the link once everything about the other is known.
func (p *peer) check() {
	if p.checked || !p.proven || !p.mesh.grantKnown(p.id) {
		return
	}
	p.checked = true
	p.timer.Stop()
	delete(p.mesh.tries, p.id)
	waiting, tracks := p.held, p.tracks
	p.held, p.tracks, p.size = nil, nil, 0
	for _, it := range waiting {
		_ = p.send(it)
	}
	for _, show := range tracks {
		show()
	}
	p.mesh.news.do(func() { p.mesh.links.call(p.id) })
	p.hearAgain()
}

// hearAgain goes through what came too early.
func (p *peer) hearAgain() {
	waiting := p.inbox
	p.inbox, p.heldIn = nil, 0
	for _, data := range waiting {
		p.heard(data)
	}
}

func (p *peer) heard(data []byte) {
	if !p.fits || p.proven && !p.checked {
		if len(p.inbox) < heldMessages && p.heldIn+len(data) <= heldBytes {
			p.inbox, p.heldIn = append(p.inbox, data), p.heldIn+len(data)
		}
		return
	}
	if p.checked {
		p.mesh.received(p.id, data)
		return
	}
	if !p.proves(data) {
		p.mesh.failed(p.id)
		return
	}
	p.proven = true
	p.check()
}

// proves reads an agent's first message: an assertion of the roster's key over
// the certificate of this very link.
func (p *peer) proves(data []byte) bool {
	var first struct {
		K         string `json:"k"`
		Assertion string `json:"assertion"`
	}
	member, ok := p.mesh.member(p.id)
	if json.Unmarshal(data, &first) != nil || first.K != "link" || !ok || len(member.Key) == 0 {
		return false
	}
	_, err := kibitz.VerifyAssertion(first.Assertion, p.mesh.Hello().Room, member.FP, []kibitz.AllowedKey{{Key: member.Key}}, time.Now())
	return err == nil
}

// send passes a message on to somebody who may perceive it, or holds it until the
// link is checked. What does not fit is not sent.
func (p *peer) send(it held) error {
	if p.checked {
		if p.mesh.hubThere() && p.mesh.GrantOf(p.id).Has(it.right) {
			return p.channel.SendText(string(it.data))
		}
		return nil
	}
	if len(p.held) == heldMessages || p.size+len(it.data) > heldBytes {
		return &RateError{RetryAfter: time.Second}
	}
	p.held = append(p.held, it)
	p.size += len(it.data)
	return nil
}

func (p *peer) close() {
	p.timer.Stop()
	p.signal(kibitz.SignalBye, "", nil)
	if pc := p.pc; pc != nil {
		// Its callbacks end first, and they may wait for us.
		p.mesh.done.Go(func() { _ = pc.GracefulClose() })
	}
}
