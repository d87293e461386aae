package talk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/localsocket"
	"parley.internal/internal/talk"
	wire "parley.internal/protocol/agentfirst"
)

// The system's word decides who is at the socket: the hub's own user and root.
func TestOtherUsersAreRefusedAtTheSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "peer")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	peer := func(uid int, err error) func(*net.UnixConn) (int, error) {
		return func(*net.UnixConn) (int, error) { return uid, err }
	}
	owner := identity.Person{ID: "1", Name: "owner", Owner: true}
	for name, try := range map[string]struct {
		uid     func(*net.UnixConn) (int, error)
		admin   bool
		refused bool
	}{
		"the hub's user":      {peerUID, true, false},
		"root":                {peer(0, nil), true, false},
		"somebody else":       {peer(os.Geteuid()+12345, nil), false, true},
		"a system that fails": {peer(0, errors.New("no")), false, true},
		"a system that is no help: a token is needed": {peer(0, localsocket.ErrUnknown), false, false},
	} {
		s, err := peerSession(c, owner, try.uid)
		if (err != nil) != try.refused || (s != nil && s.Senders() == nil) != try.admin {
			t.Errorf("%s: %v, %v; want (err != nil) to be %v, (s != nil && s.Senders() == nil) to be %v", name, s, err, try.refused, try.admin)
		}
	}
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	if _, err := peerSession(a, owner, peerUID); err == nil {
		t.Error("a connection of another kind was accepted")
	}
}

func TestErrorsHaveTheProtocolsCodes(t *testing.T) {
	for err, code := range map[error]wire.Code{
		errNoLogin: 401, errNoManager: 403, talk.ErrForbidden: 403, talk.ErrBadRequest: 400, talk.ErrNoAgent: 404,
		talk.ErrNotActive: 404, talk.ErrNoQuestion: 404, talk.ErrNoSchedule: 404, talk.ErrNoArchive: 404, talk.ErrNothing: 409,
		talk.ErrExists: 409, brain.ErrProviderKept: 409, errGone: 410, talk.ErrTooLarge: 413, talk.ErrQueueFull: 429, talk.ErrBudget: 429,
		talk.ErrUnavailable: 503, talk.ErrSummary: 502, errors.New("?"): 500, &identity.AuthError{Reason: identity.Revoked}: 401,
		fmt.Errorf("%w: %w", talk.ErrSummary, &model.Error{Cause: model.CauseTimeout}): 504,
		&model.Error{Cause: model.CauseStatus, Status: 500}:                            502,
	} {
		if got := codeOf(fmt.Errorf("wrapped: %w", err)); got != code {
			t.Errorf("%v: %d, want %d", err, got, code)
		}
	}
	for stop, code := range map[brain.Stop]wire.Code{
		brain.StopRounds: 429, brain.StopBudget: 429, brain.StopCancelled: 409, brain.StopKilled: 409, brain.StopModelError: 502,
		brain.StopTimeout: 504, brain.StopInterrupted: 503, brain.StopInternal: 500,
	} {
		if got := endCode(talk.Event{Stop: stop, Error: "x"}); got != code {
			t.Errorf("%v: %d, want %d", stop, got, code)
		}
	}
	if endCode(talk.Event{Stop: brain.StopModelError, Code: talk.CodeNoAgent}) != 404 || stopReason(brain.StopInternal) != wire.StopInterrupted {
		t.Error("an unknown guest is 404; a failure of ours is an interruption")
	}
}

// Only neighbouring pieces of one text are joined, and nothing gets lost.
func TestJoiningLosesNothing(t *testing.T) {
	encode := func(ev talk.Event) []byte {
		b, err := wire.Marshal(&wire.ServerMessage{RequestId: 3, Message: &wire.ServerMessage_Stream{Stream: streamEvent(ev)}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	o := newOutbox(1<<20, nil)
	events := []talk.Event{
		{Kind: talk.Start, Agent: "a"},
		{Kind: talk.Chunk, Text: "one "},
		{Kind: talk.Chunk, Text: "two"},
		{Kind: talk.Thinking, Text: "hm"},
		{Kind: talk.Chunk, Text: "three"},
		{Kind: talk.ToolsComplete},
		{Kind: talk.Chunk, Text: "four"},
	}
	for _, ev := range events {
		if err := o.put(item{encode(ev), "run", mergeable(ev)}); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for _, it := range o.items {
		m, err := wire.UnmarshalServer(it.payload)
		if err != nil || m.GetRequestId() != 3 {
			t.Fatal(m, err)
		}
		texts = append(texts, m.GetStream().GetChunk().GetContent()+m.GetStream().GetThinking().GetContent())
	}
	if got := strings.Join(texts, "|"); got != "|one two|hm|three||four" {
		t.Errorf("got %q", got)
	}
	if _, ok := join([]byte{0xff}, encode(events[1])); ok {
		t.Error("garbage was joined")
	}
}

func TestAnOutboxThatIsFullEnds(t *testing.T) {
	o := newOutbox(10, nil)
	if err := o.put(item{payload: make([]byte, 100)}); err != nil {
		t.Fatal("one large answer is no reason to cut", err)
	}
	if err := o.put(item{payload: make([]byte, 1)}); !errors.Is(err, errTooSlow) {
		t.Errorf("got %v", err)
	}
	if err := o.put(item{payload: make([]byte, 1)}); err != nil || len(o.items) != 0 {
		t.Errorf("after the end: %v, %d", err, len(o.items))
	}
}

func TestAPanicIsOneAnswer(t *testing.T) {
	f := &Face{}
	c := f.newConn(nil, "")
	c.cancel(context.Canceled) // nobody is there: the answer goes nowhere
	r := &request{c: c}
	r.guard(func() { panic("no") })
}
