package kenny

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	wire "parley.internal/protocol/kenny"
)

// wsHub is a hub on a real WebSocket. Each connection is handed to serve.
func wsHub(t *testing.T, serve func(t *testing.T, ws *websocket.Conn)) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/agent/ws" {
			http.NotFound(w, r)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		ws.SetReadLimit(-1)
		serve(t, ws)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func hear(t *testing.T, ws *websocket.Conn) wire.Frame {
	t.Helper()
	_, data, err := ws.Read(context.Background())
	if err != nil {
		t.Errorf("hub: %v", err)
		return nil
	}
	return decode(t, data)
}

func say(t *testing.T, ws *websocket.Conn, f wire.Frame) {
	t.Helper()
	if err := ws.Write(context.Background(), websocket.MessageText, encode(t, f)); err != nil {
		t.Errorf("hub: %v", err)
	}
}

func welcome(t *testing.T, ws *websocket.Conn) {
	t.Helper()
	_, register, err := ws.Read(context.Background())
	if err != nil {
		t.Errorf("hub: %v", err)
		return
	}
	challenge, transcript := challengeFor(t, register, hubKey)
	say(t, ws, challenge)
	auth, ok := hear(t, ws).(*wire.Auth)
	if !ok || wire.Verify(transcript, auth.AgentSig, public(machineKey)) != nil {
		t.Error("the machine did not prove itself")
	}
	say(t, ws, &wire.Policy{Rules: []wire.Rule{}})
}

func TestTunnelOverARealWebSocket(t *testing.T) {
	answered := make(chan *wire.Response, 1)
	left := make(chan websocket.StatusCode, 1)
	url := wsHub(t, func(t *testing.T, ws *websocket.Conn) {
		welcome(t, ws)
		say(t, ws, request("1", "net_config"))
		resp, _ := hear(t, ws).(*wire.Response)
		answered <- resp
		_, _, err := ws.Read(context.Background())
		left <- websocket.CloseStatus(err)
	})
	cfg := config(tools{})
	cfg.URL = url
	stop := start(t, newClient(t, cfg))
	if r := <-answered; r == nil || !r.OK || string(r.Result) != `{"tool":"net_config"}` {
		t.Errorf("%+v; want r not to be nil, r.OK, string(r.Result) to be \"{\"tool\":\"net_config\"}\"", r)
	}
	stop()
	if code := <-left; code != websocket.StatusGoingAway {
		t.Errorf("left with %d, not with a clean goodbye", code)
	}
}

func TestLargeAnswerPassesAndOversizedMessageDoesNotEndTheTunnel(t *testing.T) {
	size := make(chan int, 1)
	url := wsHub(t, func(t *testing.T, ws *websocket.Conn) {
		welcome(t, ws)
		if err := ws.Write(context.Background(), websocket.MessageText, make([]byte, wire.MaxRequest+1)); err != nil {
			t.Error(err)
		}
		if err := ws.Write(context.Background(), websocket.MessageBinary, []byte("x")); err != nil {
			t.Error(err)
		}
		say(t, ws, request("1", "screen_capture"))
		resp, _ := hear(t, ws).(*wire.Response)
		if resp != nil {
			size <- len(resp.Result)
		}
		_, _, _ = ws.Read(context.Background())
	})
	big := jsontext.Value(`{"image_b64":"` + strings.Repeat("A", 7<<20) + `"}`)
	cfg := config(tools{call: func(context.Context, *wire.Request) (jsontext.Value, error) { return big, nil }})
	cfg.URL = url + "/agent/ws"
	stop := start(t, newClient(t, cfg))
	if n := <-size; n != len(big) {
		t.Errorf("%d bytes arrived, not %d", n, len(big))
	}
	stop()
}

func TestCloseCodesOfTheHubArrive(t *testing.T) {
	url := wsHub(t, func(t *testing.T, ws *websocket.Conn) {
		welcome(t, ws)
		_ = ws.Close(websocket.StatusCode(wire.CloseReplaced), "newer connection")
	})
	cfg := config(tools{})
	cfg.URL = url
	_, err := newClient(t, cfg).attempt(t.Context())
	if closeCode(err) != wire.CloseReplaced {
		t.Error(err)
	}
}

func TestWrongServerKeyOverARealWebSocket(t *testing.T) {
	after := make(chan error, 1)
	url := wsHub(t, func(t *testing.T, ws *websocket.Conn) {
		_, register, err := ws.Read(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		challenge, _ := challengeFor(t, register, otherKey)
		say(t, ws, challenge)
		_, data, err := ws.Read(context.Background())
		if err == nil {
			t.Errorf("the machine sent %s", data)
		}
		after <- err
	})
	cfg := config(tools{})
	cfg.URL = url
	_, err := newClient(t, cfg).attempt(t.Context())
	if !errors.Is(err, ErrServerUnverified) || <-after == nil {
		t.Error(err)
	}
}

// TestHubThatIgnoresTheGoodbye holds the machine to its bound with a hub that
// neither reads nor answers.
func TestHubThatIgnoresTheGoodbye(t *testing.T) {
	up, gone := make(chan struct{}), make(chan struct{})
	url := wsHub(t, func(t *testing.T, ws *websocket.Conn) {
		welcome(t, ws)
		close(up)
		<-gone
	})
	defer close(gone)
	cfg := config(tools{})
	cfg.URL = url
	stop := start(t, newClient(t, cfg))
	<-up
	stop() // a hang shows as the test's time-out
}

func TestRefusedDialTellsHowLongToWait(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "17")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	cfg := config(tools{})
	cfg.URL = srv.URL
	_, err := newClient(t, cfg).attempt(t.Context())
	var dial *DialError
	if !errors.As(err, &dial) || dial.Status != 503 || dial.RetryAfter != 17*time.Second {
		t.Error(err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	url := wsHub(t, func(t *testing.T, _ *websocket.Conn) { t.Error("the machine followed a redirect") })
	srv := httptest.NewServer(http.RedirectHandler(url+"/agent/ws", http.StatusTemporaryRedirect))
	defer srv.Close()
	cfg := config(tools{})
	cfg.URL = srv.URL
	var dial *DialError
	if _, err := newClient(t, cfg).attempt(t.Context()); !errors.As(err, &dial) || dial.Status != http.StatusTemporaryRedirect {
		t.Error(err)
	}
}
