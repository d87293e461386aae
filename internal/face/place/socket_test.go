package place_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// line is a client's end of a WebSocket.
type line struct {
	t    *testing.T
	conn *websocket.Conn
}

// dial opens a WebSocket at a path of the place.
func (w *world) dial(path string) *line {
	w.t.Helper()
	conn, res, err := websocket.Dial(w.t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+path, &websocket.DialOptions{HTTPClient: w.http})
	if err != nil {
		w.t.Fatalf("opening a WebSocket at %s: %v", path, err)
	}
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	conn.SetReadLimit(8 << 20)
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return &line{w.t, conn}
}

func (l *line) say(frame any) {
	l.t.Helper()
	text, isText := frame.(string)
	if !isText {
		encoded, err := json.Marshal(frame)
		if err != nil {
			l.t.Fatal(err)
		}
		text = string(encoded)
	}
	if err := l.conn.Write(l.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		l.t.Fatalf("writing a frame: %v", err)
	}
}

type told struct {
	ID     string
	Status int
	Body   map[string]any
}

func (l *line) hear() told {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	_, frame, err := l.conn.Read(ctx)
	if err != nil {
		l.t.Fatalf("waiting for an answer: %v", err)
	}
	var out told
	if err := json.Unmarshal(frame, &out); err != nil {
		l.t.Fatalf("%s: %v", frame, err)
	}
	return out
}

// ask makes a request and waits for its answer; nothing else may be on its way.
func (l *line) ask(id, method, path string, body any) told {
	l.t.Helper()
	l.say(map[string]any{"id": id, "method": method, "path": path, "body": body})
	got := l.hear()
	if got.ID != id {
		l.t.Fatalf("%s %s was answered as %q, not as %q", method, path, got.ID, id)
	}
	return got
}

// The same requests have the same answers over one WebSocket, at the place and at its
// direct endpoints; what is refused over HTTP is refused here in the same words.
func TestAWebSocketCarriesTheSameMessages(t *testing.T) {
	w := newWorld(t, policy(place.Open))
	for _, at := range []string{"/place/v1/socket", "/meeting/v1/socket"} {
		l := w.dial(at)
		if got := l.ask("1", "GET", "/place/v1/info", nil); got.Status != 200 || got.Body["place_id"] != w.place.PlaceID() {
			t.Errorf("info by %s: %+v", at, got)
		}
		if got := l.ask("2", "POST", "/place/v1/register", map[string]string{"id": "ada"}); got.Status != 200 || got.Body["agent_id"] != "ada" {
			t.Errorf("register by %s: %+v", at, got)
		}
		if got := l.ask("3", "GET", "/meeting/v1/introduce", nil); got.Status != 200 || got.Body["identity"] == nil {
			t.Errorf("introduce by %s: %+v", at, got)
		}
		message := map[string]any{"id": mmp.NewMessageID(), "action": "goodbye", "from": "ada", "timestamp": mmp.Stamp(w.clock.now()), "payload": map[string]string{"reason": "timeout"}}
		if got := l.ask("4", "POST", "/meeting/v1/message", message); got.Status != 200 || got.Body["status"] != "received" {
			t.Errorf("a message by %s: %+v", at, got)
		}
		for id, c := range map[string]struct {
			frame  string
			status int
			code   string
		}{
			"5": {`{"id":"5","method":"GET","path":"/place/v1/nowhere"}`, 404, "not_found"},
			"6": {`{"id":"6","method":"GET","path":"/place/v1/register"}`, 405, "method_not_allowed"},
			"7": {`{"id":"7","method":"POST","path":"/place/v1/heartbeat","body":{}}`, 400, "agent_id_required"},
			"8": {`{"id":"8","method":"GET","path":"http://elsewhere/place/v1/info"}`, 400, "invalid_field"},
			"9": {`{"id":"9","method":"GET","path":"/place/v1/info","token":"` + strings.Repeat("0", 64) + `"}`, 401, "invalid_or_expired_token"},
			"a": {`{"id":"a","method":7}`, 400, "invalid_field"},
			"b": {`{"id":"b","method":"GET","path":"/place/v1/socket"}`, 404, "not_found"},
			"":  {`{"id":`, 400, "invalid_json"},
		} {
			l.say(c.frame)
			if got := l.hear(); got.ID != id || got.Status != c.status || c.code != "" && c.code != "agent_id_required" && got.Body["code"] != c.code {
				t.Errorf("%s by %s is answered %+v", c.frame, at, got)
			}
		}
	}
}

// sealed is a message as the relay takes it.
func sealed(from, to, blob string) map[string]string {
	return map[string]string{"from": from, "to": to, "encrypted_blob": blob, "blob_hash": mmp.HashOf(blob).Prefixed(), "message_type": "note"}
}

// Who follows a queue is told of messages as they come, without asking; the next ones
// come when it is done with those before, and what it never acknowledged stays in the queue.
func TestAFollowedQueueNeedsNoPolls(t *testing.T) {
	w := newWorld(t, policy(place.Open))
	w.do("POST", "/place/v1/register", "", map[string]string{"id": "bob"})
	l := w.dial("/place/v1/socket")
	l.say(map[string]string{"id": "f", "method": "GET", "path": "/place/v1/relay/receive?agent_id=bob&ack=manual&limit=1&follow=true"})
	for i, blob := range []string{"Zmlyc3Q=", "c2Vjb25k"} {
		w.do("POST", "/place/v1/relay/send", "", sealed("ada", "bob", blob))
		got := l.hear()
		messages, _ := got.Body["messages"].([]any)
		if got.ID != "f" || got.Status != 200 || len(messages) != 1 {
			t.Fatalf("message %d came as %+v", i+1, got)
		}
		m, _ := messages[0].(map[string]any)
		if m["encrypted_blob"] != blob {
			t.Errorf("message %d is %v", i+1, m)
		}
		if i == 0 {
			if acked := l.ask("ack", "POST", "/place/v1/relay/ack", map[string]any{"agent_id": "bob", "ids": []any{m["id"]}}); acked.Body["acked"] == nil {
				t.Errorf("acknowledging: %+v", acked)
			}
		}
		l.say(`{"id":"f"}`)
	}
	_ = l.conn.Close(websocket.StatusNormalClosure, "")
	if got := w.do("GET", "/place/v1/relay/status?agent_id=bob", "", nil); got.num("pending_count")+got.num("leased_count") != 1 {
		t.Errorf("of two messages one was acknowledged, and the queue has %s", got.raw)
	}
}

// A token that is taken back ends the following of its queue at once.
func TestARevokedTokenEndsAFollowedQueue(t *testing.T) {
	w := newWorld(t, policy(place.Strict))
	token := w.prove(keyNo(0), "ada")
	l := w.dial("/place/v1/socket")
	l.say(map[string]string{"id": "f", "method": "GET", "path": "/place/v1/relay/receive?ack=manual&follow=true", "token": token})
	if got := l.ask("s", "GET", "/place/v1/relay/status?agent_id=ada", nil); got.Status != 401 {
		t.Errorf("a request without a token on a socket that has shown one: %+v", got)
	}
	if _, err := w.place.RevokeTokens(t.Context(), operator, "ada"); err != nil {
		t.Fatal(err)
	}
	if got := l.hear(); got.ID != "f" || got.Status != 401 {
		t.Errorf("the queue goes on to be followed: %+v", got)
	}
}

// One socket has so many requests in progress, and no id twice; a request is taken back.
func TestASocketHasSoManyRequestsInProgress(t *testing.T) {
	w := newWorld(t, policy(place.Open))
	l := w.dial("/place/v1/socket")
	for i := range 16 {
		l.say(map[string]string{"id": string(rune('a' + i)), "method": "GET", "path": "/place/v1/relay/receive?wait=60&agent_id=" + string(rune('a'+i))})
	}
	if got := l.ask("more", "GET", "/place/v1/info", nil); got.Status != 429 {
		t.Errorf("the seventeenth request: %+v", got)
	}
	l.say(map[string]string{"id": "a", "method": "GET", "path": "/place/v1/info"})
	if got := l.hear(); got.ID != "a" || got.Status != 409 {
		t.Errorf("a second request of one id: %+v", got)
	}
	l.say(`{"id":"a","cancel":true}`)
	for tries := 0; ; tries++ {
		got := l.ask("more", "GET", "/place/v1/info", nil)
		if got.Status == 200 {
			break
		}
		if tries > 10_000 {
			t.Fatalf("a request that was taken back keeps its place: %+v", got)
		}
	}
}

// What a page of somebody else opens in a browser carries that browser's cookies: who
// opened the socket says nothing about who asks.
func TestASocketHasNoRightsOfItsOwn(t *testing.T) {
	w := newWorld(t, policy(place.Strict))
	token := w.prove(keyNo(0), "ada")
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+"/place/v1/socket", &websocket.DialOptions{
		HTTPClient: w.http, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	l := &line{t, conn}
	if got := l.ask("1", "GET", "/place/v1/relay/status?agent_id=ada", nil); got.Status != 401 {
		t.Errorf("a request without a token of its own: %+v", got)
	}
}
