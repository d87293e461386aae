package place_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	faceplace "parley/internal/face/place"
	"parley/internal/place"
	"parley/protocol/mmp"
)

// instant takes every message at once and keeps none.
type instant struct{ place.API }

func (instant) Send(context.Context, place.Caller, *mmp.SendRequest) (mmp.SendAnswer, error) {
	return mmp.SendAnswer{RelayID: "relay_0123456789abcdef", Status: "queued", ExpiresAt: mmp.At(time.Unix(1_800_000_000, 0))}, nil
}

// BenchmarkSendBody is what the face does for one send, without a place behind it.
func BenchmarkSendBody(b *testing.B) {
	face := faceplace.New(faceplace.Deps{Place: instant{}, Loopback: true})
	blob := strings.Repeat("QUJDRA==", 140)
	body := `{"from":"ada","to":"bob","encrypted_blob":"` + blob + `","blob_hash":"` + mmp.HashOf(blob).Prefixed() + `","message_type":"bench"}`
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
