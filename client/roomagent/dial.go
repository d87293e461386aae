package roomagent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/webrtc/v4"

	"parley.internal/protocol/kibitz"
)

// DialOptions say as whom to come.
type DialOptions struct {
	Name string
	// Person says that a person comes and no agent: it is what a program for people says,
	// such as a command line. An agent never does; the room narrows whoever says later
	// that it is one.
	Person bool
	// Key is the agent's own; without it one comes by Token or as a guest.
	Key *kibitz.PrivateKey
	// Token is a token of the hub.
	Token string
	// JWT is an invite, if the link does not carry it, or an identity token; Credit a paid minute; AgentToken and
	// AgentChain are for rooms with issuers or certificate authorities.
	JWT, Credit, AgentToken string
	AgentChain              []string
	// RenewCredit, if not nil, gets the next credit: before the first announce, unless
	// Credit is set, and again whenever half of the last one's time is over.
	RenewCredit func(context.Context) (string, error)
	// RoomKey is the secret of a sealed room, if the link does not carry it.
	RoomKey string
	Meta    map[string]any
	// Want asks for fewer rights than allowed.
	Want *kibitz.Grant
	// FP is the certificate's fingerprint, for links.
	FP string
	// OnTrack, for DialMesh, is told media lanes as they start; without it links
	// carry data only. It runs beside everything else and should read the track.
	OnTrack func(from string, lane Lane, track *webrtc.TrackRemote)
	// HTTPClient dials; nil is the usual one.
	HTTPClient *http.Client
	// OnFrame, if not nil, is shown every frame of the room when it comes, what is
	// sealed opened. It must not block; frames of the first moments are shown, too.
	OnFrame func(frame kibitz.Frame, data []byte)
	// Backoff is the wait before a new attempt; nil doubles from half a second to
	// fifteen, with jitter.
	Backoff func(attempt int) time.Duration
}

// address is a room as it is dialled.
type address struct {
	url, origin, secret, invite string
}

// parseAddress reads a room's link, https://hub/r/NAME#k=…&i=…, or its socket.
func parseAddress(roomURL, secret string) (address, error) {
	u, err := url.Parse(roomURL)
	if err != nil || u.Host == "" {
		return address{}, fmt.Errorf("%q is not a room's link", roomURL)
	}
	name := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(u.Path, "/rooms/"), "/r/"), "/ws"), "/")
	if _, err := kibitz.NormalizeRoom(name); err != nil {
		return address{}, err
	}
	origin, err := kibitz.Origin(roomURL)
	if err != nil {
		return address{}, err
	}
	fragment, _ := url.ParseQuery(u.Fragment)
	if secret == "" {
		secret = fragment.Get("k")
	}
	// The hub knows which room a spelling means; an id may end in a dash that
	// normalising it once more would take away.
	return address{url: "ws" + strings.TrimPrefix(origin, "http") + "/rooms/" + url.PathEscape(name) + "/ws", origin: origin, secret: secret, invite: fragment.Get("i")}, nil
}

// Dial joins a room over its WebSocket and returns once the room has let the
// agent in, or refused it with a *DeniedError. Afterwards the connection mends
// itself: it resumes without gap or duplicate and sends again what was not
// acknowledged. Leave ends it; so does ctx while Dial waits.
func Dial(ctx context.Context, roomURL string, o DialOptions) (*Conn, error) {
	return dial(ctx, roomURL, o, func(*Conn) {})
}

// dial is Dial with somebody who listens before anything can come.
func dial(ctx context.Context, roomURL string, o DialOptions, listen func(*Conn)) (*Conn, error) {
	addr, err := parseAddress(roomURL, o.RoomKey)
	if err != nil {
		return nil, err
	}
	if o.JWT == "" {
		o.JWT = addr.invite
	}
	if o.Backoff == nil {
		o.Backoff = backoff
	}
	life, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &Conn{
		opts: o, addr: addr, life: life, stop: stop, joined: make(chan struct{}), gone: make(chan struct{}),
		pending: map[int64]*pending{}, meta: o.Meta, credit: o.Credit, deliver: queue{held: true},
	}
	listen(c)
	socket, err := c.connect(ctx)
	if err != nil {
		stop(ErrLeft)
		return nil, err
	}
	go c.run(socket)
	select {
	case <-c.joined:
		return c, nil
	case <-c.gone:
		return nil, c.Err()
	case <-ctx.Done():
		_ = c.Leave()
		return nil, ctx.Err()
	}
}

// connect dials once. A hub that takes the connection and says nothing is none.
func (c *Conn) connect(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, lostAfter)
	defer cancel()
	header := http.Header{}
	if c.opts.Token != "" {
		header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	socket, resp, err := websocket.Dial(ctx, c.addr.url, &websocket.DialOptions{HTTPHeader: header, HTTPClient: c.opts.HTTPClient})
	if err != nil {
		if resp != nil && resp.StatusCode >= 400 && resp.StatusCode < 500 {
			return nil, atTheDoor(resp)
		}
		return nil, err
	}
	socket.SetReadLimit(16 << 20)
	return socket, nil
}

// atTheDoor is why the hub has no room for us: its own word, or the status.
func atTheDoor(resp *http.Response) *DeniedError {
	defer func() { _ = resp.Body.Close() }()
	var no struct{ Code, Detail string }
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&no) == nil && no.Code != "" {
		return &DeniedError{Code: no.Code, Reason: no.Detail}
	}
	return &DeniedError{Code: fmt.Sprintf("http.%d", resp.StatusCode), Reason: "the hub does not let us near this room"}
}

func backoff(attempt int) time.Duration {
	d := min(500*time.Millisecond<<min(attempt, 6), 15*time.Second)
	var b [1]byte
	_, _ = rand.Read(b[:])
	return d*3/4 + d*time.Duration(b[0])/512
}

// fatal reports a close after which coming back is pointless.
func fatal(err error) bool {
	switch websocket.CloseStatus(err) {
	case kibitz.CloseRevoked, kibitz.CloseRefused, kibitz.CloseRoomClosed, kibitz.CloseReplaced, kibitz.CloseKicked:
		return true
	}
	denied, ok := errors.AsType[*DeniedError](err)
	return ok && denied.Code != "offline"
}
