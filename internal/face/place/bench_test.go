package place_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/face/front"
	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
)

// instant takes every message at once and keeps none.
type instant struct{ place.API }

func (instant) Send(context.Context, place.Visitor, *relay.SendRequest) (relay.SendAnswer, error) {
	return relay.SendAnswer{RelayID: "relay_0123456789abcdef", Status: "queued", ExpiresAt: mmp.At(time.Unix(1_800_000_000, 0))}, nil
}

func (instant) Register(context.Context, place.Visitor, *board.Registration) (board.RegisterAnswer, error) {
	at := mmp.At(time.Unix(1_800_000_000, 0))
	return board.RegisterAnswer{AgentID: "ada", Status: "registered", RegisteredAt: at, ExpiresAt: at, PlaceID: "place"}, nil
}

// open lets every page in.
type open struct{}

func (open) Check(*http.Request) error { return nil }

func sendBody() string {
	blob := strings.Repeat("QUJDRA==", 140)
	return `{"from":"ada","to":"bob","encrypted_blob":"` + blob + `","blob_hash":"` + mmp.HashOf(blob).Prefixed() + `","message_type":"bench"}`
}

// BenchmarkHTTP is the way of a request from a socket to the place and back, with a
// place that does nothing. The client allocates nothing.
func BenchmarkHTTP(b *testing.B) {
	for _, c := range []struct{ name, path, body string }{
		{"send", "/place/v1/relay/send", sendBody()},
		{"register", "/place/v1/register", `{"id":"ada","name":"bench"}`},
	} {
		b.Run(c.name, func(b *testing.B) { benchHTTP(b, c.path, c.body) })
	}
}

func benchHTTP(b *testing.B, path, body string) {
	f := front.New(front.Deps{Guard: open{}, Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(throughDoor(f)(faceplace.New(faceplace.Deps{Place: instant{}, Front: f, Loopback: true})))
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	request := []byte("POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	answer := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if n, err := c.Read(answer); err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 20")) {
			b.Fatalf("%s %v", answer[:n], err)
		}
	}
}

// BenchmarkSendBody is what the face does for one send, without a place behind it.
func BenchmarkSendBody(b *testing.B) {
	face := faceplace.New(faceplace.Deps{Place: instant{}, Loopback: true})
	body := sendBody()
	r := httptest.NewRequest(http.MethodPost, "/place/v1/relay/send", nil)
	r.RemoteAddr, r.ContentLength = "127.0.0.1:5", int64(len(body))
	in := strings.NewReader(body)
	r.Body = http.NoBody
	b.ReportAllocs()
	for b.Loop() {
		in.Reset(body)
		r.Body = closer{in}
		w := discard{http.Header{}}
		face.ServeHTTP(w, r)
	}
}

type closer struct{ *strings.Reader }

func (closer) Close() error { return nil }

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
