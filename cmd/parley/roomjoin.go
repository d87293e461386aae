package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/protocol/kibitz"
)

// joinFlags say as whom to join.
type joinFlags struct {
	name, key, backend, say, roomKey string
	readOnly                         bool
	agent                            string
	tools                            []string
	leave                            bool
}

func newRoomJoin(g *globals) *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use: "join ROOM", Short: "Sit in a room: lines of standard input are said, what others say is printed", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			if f.agent != "" {
				return f.seat(ctx, g, cmd, c, args[0])
			}
			return f.join(ctx, g, cmd, c, args[0])
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the name others see")
	flags.StringVar(&f.key, "key", "", "enter as the agent of this key (see keygen)")
	flags.BoolVar(&f.readOnly, "read-only", false, "only watch")
	flags.StringVar(&f.backend, "backend", "", "declare where what is seen goes to")
	flags.StringVar(&f.say, "say", "", "say this and leave")
	flags.StringVar(&f.roomKey, "room-key", "", "key of a sealed room (the link's part after #k=)")
	flags.StringVar(&f.agent, "agent", "", "seat this agent of the hub instead; it watches until a host lets it speak")
	flags.StringSliceVar(&f.tools, "tools", nil, "with --agent: tools it may use there (only those that change nothing run)")
	flags.BoolVar(&f.leave, "leave", false, "with --agent: take it out of the room")
	return jsonFlag(cmd, g)
}

// roomSeat is a connection to a room.
type roomSeat struct {
	ws     *websocket.Conn
	room   string
	origin string
	key    *kibitz.PrivateKey
	seal   *kibitz.SealKey
	names  map[string]string
	self   string
	n      atomic.Int64
	print  func(f kibitz.Frame, raw []byte)
}

func (f *joinFlags) join(ctx context.Context, g *globals, cmd *cobra.Command, c *hubapi.Client, where string) error {
	s, err := f.dial(ctx, c, where)
	if err != nil {
		return err
	}
	defer func() { _ = s.ws.CloseNow() }()
	out := cmd.OutOrStdout()
	s.print = func(fr kibitz.Frame, raw []byte) {
		if g.json {
			fmt.Fprintf(out, "%s\n", raw)
		} else if line := s.line(fr); line != "" {
			fmt.Fprintln(out, line)
		}
	}
	if err := f.enter(ctx, s); err != nil {
		return err
	}
	if f.say != "" {
		return s.sayOnce(ctx, f.say)
	}
	if !f.readOnly {
		go s.sayLines(ctx, cmd.InOrStdin())
	}
	return s.follow(ctx)
}

// dial finds the room, which is an id or a link, and connects.
func (f *joinFlags) dial(ctx context.Context, c *hubapi.Client, where string) (*roomSeat, error) {
	base, room := c.Base(), where
	if u, err := url.Parse(where); err == nil && u.Host != "" {
		base = u.Scheme + "://" + u.Host
		room = strings.TrimPrefix(u.Path, "/r/")
		if k, ok := strings.CutPrefix(u.Fragment, "k="); ok && f.roomKey == "" {
			f.roomKey = k
		}
	}
	origin, err := kibitz.Origin(base)
	if err != nil {
		return nil, usageError("%s", oneLine(err))
	}
	header := http.Header{}
	if f.key == "" && base == c.Base() {
		header.Set("Authorization", "Bearer "+c.Token())
	}
	ws, res, err := websocket.Dial(ctx, base+"/rooms/"+url.PathEscape(room)+"/ws", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return nil, dialError(res, err)
	}
	ws.SetReadLimit(16 << 20)
	return &roomSeat{ws: ws, origin: origin, names: map[string]string{}}, nil
}

// dialError reads why there was no WebSocket.
func dialError(res *http.Response, err error) error {
	no := &hubapi.Error{}
	if res != nil && json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(no) == nil && no.Code != "" {
		return no
	}
	return err
}

// enter announces and waits to be let in.
func (f *joinFlags) enter(ctx context.Context, s *roomSeat) error {
	hello, err := next[*kibitz.Hello](ctx, s)
	if err != nil {
		return err
	}
	s.room = hello.Room
	if f.roomKey != "" {
		secret, err := kibitz.ParseSecret(f.roomKey)
		if err != nil {
			return usageError("the room's key: %s", oneLine(err))
		}
		if s.seal, err = kibitz.NewSealKey(secret, s.room); err != nil {
			return err
		}
	}
	v, err := f.voice(s, hello)
	if err != nil {
		return err
	}
	if err := s.write(ctx, v); err != nil {
		return err
	}
	for {
		door, err := next[*kibitz.Lobby](ctx, s)
		switch {
		case err != nil:
			return err
		case door.Status == kibitz.LobbyAdmitted:
			return nil
		case door.Status != kibitz.LobbyWaiting:
			return &exitError{code: refusedCode, text: string(door.Code) + ": " + printable(door.Reason)}
		}
	}
}

func (f *joinFlags) voice(s *roomSeat, hello *kibitz.Hello) (map[string]any, error) {
	v := map[string]any{"t": "voice", "on": true, "name": f.name}
	if f.key == "" && f.backend == "" {
		return v, nil
	}
	meta := map[string]any{"role": "agent", "readOnly": f.readOnly}
	if f.backend != "" {
		meta["backend"], meta["egress"] = f.backend, true
	}
	v["meta"] = meta
	if f.key == "" {
		return v, nil
	}
	data, err := readFile(f.key)
	if err != nil {
		return nil, err
	}
	key, err := kibitz.ParsePrivateKey(bytes.TrimSpace(data))
	if err != nil {
		return nil, usageError("%s: %s", f.key, oneLine(err))
	}
	s.key = key
	v["agentKey"] = key.Public()
	v["agentAssertion"], err = s.proof(hello.Nonce)
	return v, err
}

// proof is an assertion of the key on this connection.
func (s *roomSeat) proof(nonce string) (string, error) {
	return kibitz.SignAssertion(s.key, s.room, kibitz.ChannelFingerprint(s.origin, s.room, nonce), time.Now())
}

// proveAgain answers a challenge.
func (s *roomSeat) proveAgain(ctx context.Context, nonce string) error {
	proof, err := s.proof(nonce)
	if err != nil {
		return err
	}
	return s.write(ctx, map[string]any{"t": "voice", "on": true, "agentAssertion": proof})
}

func (s *roomSeat) write(ctx context.Context, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.ws.Write(ctx, websocket.MessageText, data)
}

// read gives the next frame, opened if it was sealed.
func (s *roomSeat) read(ctx context.Context) (kibitz.Frame, error) {
	for {
		_, data, err := s.ws.Read(ctx)
		if err != nil {
			return nil, err
		}
		f, err := kibitz.DecodeHub(data)
		if err != nil {
			continue // of a later hub
		}
		if from, ok := f.(*kibitz.From); ok && s.seal != nil {
			plain, err := s.seal.Unseal(from.C, from.To)
			if err != nil {
				continue // not for us
			}
			from.C = plain
			if data, err = kibitz.Encode(from); err != nil {
				return nil, err
			}
		}
		s.learn(f)
		if ch, ok := f.(*kibitz.Challenge); ok && s.key != nil {
			if err := s.proveAgain(ctx, ch.Nonce); err != nil {
				return nil, err
			}
		}
		if s.print != nil {
			s.print(f, data)
		}
		return f, nil
	}
}

// learn keeps the names of the roster.
func (s *roomSeat) learn(f kibitz.Frame) {
	switch f := f.(type) {
	case *kibitz.Self:
		s.self = f.ID
	case *kibitz.Roster:
		for _, m := range f.Members {
			s.names[m.ID] = m.Name
		}
	}
}

// next waits for a frame of a type.
func next[T kibitz.Frame](ctx context.Context, s *roomSeat) (T, error) {
	for {
		f, err := s.read(ctx)
		if t, ok := f.(T); ok || err != nil {
			return t, err
		}
	}
}

// line is a frame for people; empty for what they need not see.
func (s *roomSeat) line(f kibitz.Frame) string {
	switch f := f.(type) {
	case *kibitz.From:
		if text := chatText(f.C); text != "" {
			return printable(s.names[f.From]) + ": " + printable(text)
		}
	case *kibitz.Kick:
		return "* " + string(f.Code) + ": " + printable(f.Reason)
	case *kibitz.Nak:
		return "* refused: " + string(f.Code) + ": " + printable(f.Reason)
	case *kibitz.Lobby:
		if f.Status == kibitz.LobbyWaiting {
			return "* waiting to be admitted"
		}
	case *kibitz.Self:
		return "* you are " + printable(f.Name) + " and may: " + f.Grant.String()
	}
	return ""
}

// chatText is the line in a chat, built in or an agent's.
func chatText(c kibitz.Raw) string {
	var m struct {
		K    string `json:"k"`
		Text string `json:"text"`
		Data struct {
			Kind string `json:"__kib_agent"`
			Text string `json:"text"`
		} `json:"data"`
	}
	_ = json.Unmarshal(c, &m) // other shapes are no chat
	if m.K == "app" && m.Data.Kind == "chat" {
		return m.Data.Text
	}
	return m.Text
}

// content is a chat line, sealed if the room is.
func (s *roomSeat) content(text string) (kibitz.Raw, error) {
	c, err := json.Marshal(map[string]string{"k": "chat", "text": text})
	if err != nil || s.seal == nil {
		return c, err
	}
	var nonce [12]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return s.seal.Seal(nonce, c, "")
}

func (s *roomSeat) say(ctx context.Context, text string) (int64, error) {
	c, err := s.content(text)
	if err != nil {
		return 0, err
	}
	n := s.n.Add(1)
	return n, s.write(ctx, map[string]any{"t": "send", "c": c, "n": n})
}

// sayOnce says a line, waits until it is taken, and leaves.
func (s *roomSeat) sayOnce(ctx context.Context, text string) error {
	n, err := s.say(ctx, text)
	if err != nil {
		return err
	}
	for {
		f, err := s.read(ctx)
		if err != nil {
			return err
		}
		switch f := f.(type) {
		case *kibitz.Ack:
			if f.N == n {
				return s.leave(ctx)
			}
		case *kibitz.Nak:
			if f.N == n {
				_ = s.leave(ctx)
				return &exitError{code: refusedCode, text: string(f.Code) + ": " + printable(f.Reason)}
			}
		case *kibitz.Kick:
			return &exitError{code: refusedCode, text: string(f.Code) + ": " + printable(f.Reason)}
		}
	}
}

// leave is a clean exit.
func (s *roomSeat) leave(ctx context.Context) error {
	if err := s.write(ctx, map[string]string{"t": "leave"}); err != nil {
		return err
	}
	_, _, _ = s.ws.Read(ctx) // the hub closes
	return nil
}

func (s *roomSeat) sayLines(ctx context.Context, in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			if _, err := s.say(ctx, text); err != nil {
				return
			}
		}
	}
}

// follow prints until the room or the person ends it.
func (s *roomSeat) follow(ctx context.Context) error {
	for {
		f, err := s.read(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, io.EOF) || websocket.CloseStatus(err) == websocket.StatusNormalClosure {
				return nil
			}
			return err
		}
		if k, ok := f.(*kibitz.Kick); ok {
			return &exitError{code: refusedCode, text: string(k.Code) + ": " + printable(k.Reason)}
		}
	}
}
