package roommcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"parley.internal/client/roomagent"
	"parley.internal/protocol/kibitz"
)

// seat is the model's place in a room.
type seat struct {
	id       string
	conn     *roomagent.Conn
	mesh     *roomagent.Mesh // nil without links
	notes    *notes
	readOnly bool
	idle     *time.Timer
}

func notJoined() error { return failure("not joined") }

// find is the seat the model has; a foreign session has none.
func (s *Server) find(session string) (*seat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seat == nil || session != "" && session != s.seat.id {
		return nil, notJoined()
	}
	s.seat.idle.Reset(s.Idle)
	return s.seat, nil
}

// leaves gives up the seat there is.
func (s *Server) leaves() {
	s.mu.Lock()
	was := s.seat
	s.seat = nil
	s.mu.Unlock()
	if was == nil {
		return
	}
	was.idle.Stop()
	if was.mesh != nil {
		_ = was.mesh.Leave()
		return
	}
	_ = was.conn.Leave()
}

func (s *Server) join(ctx context.Context, in args) (any, error) {
	if old, err := s.find(""); err == nil {
		if old.conn.Err() == nil {
			return nil, failure("already joined " + old.conn.Hello().Room)
		}
		s.leaves()
	}
	made, err := s.enter(ctx, in)
	if err != nil {
		return nil, refused(err)
	}
	made.idle = time.AfterFunc(s.Idle, s.leaves)
	s.mu.Lock()
	s.seat = made
	s.mu.Unlock()
	return map[string]any{
		"session": made.id, "self": made.conn.Self().ID, "room": made.conn.Hello().Room, "canAct": made.canAct(), "readOnly": made.readOnly,
		"sealed": made.conn.Hello().Sealed.On(), "grant": made.conn.Grant(), "roster": made.conn.Members(),
	}, nil
}

// enter connects by the key, over the relay or over links.
func (s *Server) enter(ctx context.Context, in args) (*seat, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Door)
	defer cancel()
	made := &seat{id: rand.Text(), notes: newNotes(in.Transport == "webrtc"), readOnly: in.ReadOnly == nil || *in.ReadOnly}
	o := roomagent.DialOptions{Name: in.Name, Key: s.Key, HTTPClient: s.HTTPClient, OnFrame: made.notes.frame, Meta: map[string]any{"role": "agent", "readOnly": made.readOnly}}
	if o.Name == "" {
		o.Name = "Agent"
	}
	if in.Backend != "" {
		o.Meta["backend"] = in.Backend
	}
	if in.Backend != "" || in.Egress {
		o.Meta["egress"] = true
	}
	link := in.Room
	if u, err := url.Parse(link); err != nil || u.Host == "" {
		link = strings.TrimRight(s.Hub, "/") + "/r/" + link
	}
	var err error
	if in.Transport != "webrtc" {
		made.conn, err = roomagent.Dial(ctx, link, o)
		return made, err
	}
	if made.mesh, err = roomagent.DialMesh(ctx, link, o); err != nil {
		return nil, err
	}
	made.conn = made.mesh.Conn
	made.mesh.OnContent(made.notes.hear)
	return made, nil
}

func refused(err error) error {
	if no, ok := errors.AsType[*roomagent.DeniedError](err); ok {
		return failure("refused: " + no.Code)
	}
	if no, ok := errors.AsType[*kibitz.Refusal](err); ok {
		return failure("refused: " + string(no.Code))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return failure("refused: " + string(kibitz.RoomNotAdmitted))
	}
	return failure("refused: unavailable: " + err.Error())
}

func (s *seat) canAct() bool {
	g := s.conn.Grant().Effective(time.Now())
	return !s.readOnly && (g.Has(kibitz.SendChat) || g.Has(kibitz.Act))
}

func (s *Server) observe(ctx context.Context, in args) (any, error) {
	at, err := s.find(in.Session)
	if err != nil {
		return nil, err
	}
	at.await(ctx, time.Duration(in.WaitMs)*time.Millisecond)
	if at.conn.Err() != nil && !at.notes.left() {
		s.leaves()
		return nil, notJoined()
	}
	most := in.Max
	if most == 0 {
		most = 50
	}
	out := at.notes.unseen(most)
	out["roster"], out["grant"], out["canAct"] = at.conn.Members(), at.conn.Grant(), at.canAct()
	return out, nil
}

// await waits for news, or the end of the room.
func (s *seat) await(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		fresh, changed := s.notes.news()
		if fresh || most == 0 {
			return
		}
		select {
		case <-changed:
		case <-s.conn.Done():
			return
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) say(ctx context.Context, in args) (any, error) {
	return s.send(ctx, in, func() (kibitz.Raw, error) { return kibitz.ChatEnvelope(in.Text) })
}

func (s *Server) act(ctx context.Context, in args) (any, error) {
	return s.send(ctx, in, func() (kibitz.Raw, error) { return kibitz.ActEnvelope(kibitz.Raw(in.Action)) })
}

func (s *Server) send(ctx context.Context, in args, envelope func() (kibitz.Raw, error)) (any, error) {
	at, err := s.find(in.Session)
	if err != nil {
		return nil, err
	}
	if at.readOnly {
		return nil, failure("read-only")
	}
	data, err := envelope()
	if err != nil {
		return nil, err
	}
	var seq uint64
	if at.mesh != nil && at.conn.Peers().Data {
		err = at.mesh.SendTo(ctx, in.To, json.RawMessage(data)) // links have no order, and so no number
	} else {
		var c json.RawMessage
		if c, err = json.Marshal(map[string]any{"k": kibitz.ContentApp, "data": json.RawMessage(data)}); err == nil {
			seq, err = at.conn.Send(ctx, c, in.To)
		}
	}
	if err != nil {
		return nil, unsaid(err)
	}
	return map[string]any{"sent": true, "seq": seq}, nil
}

func unsaid(err error) error {
	if no, ok := errors.AsType[*roomagent.DeniedError](err); ok {
		if no.Code == string(kibitz.ActDenied) || no.Code == string(kibitz.PerceiveDenied) {
			return failure("blocked: " + no.Reason)
		}
		return failure(no.Code)
	}
	if _, ok := errors.AsType[*roomagent.RateError](err); ok {
		return failure(kibitz.LimitRate)
	}
	if errors.Is(err, roomagent.ErrLeft) || errors.Is(err, roomagent.ErrNotJoined) {
		return notJoined()
	}
	return err
}

func (s *Server) leave(_ context.Context, in args) (any, error) {
	if _, err := s.find(in.Session); err == nil {
		s.leaves()
	}
	return map[string]any{"left": true}, nil
}
