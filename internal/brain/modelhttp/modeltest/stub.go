// Package modeltest has what the tests of HTTP providers share: a stub server
// that replays transcripts and remembers what it was sent, and a reader that
// puts a stream together the way a caller does.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/model"
)

// Stub is a model server. Its fields hold the latest request; read them after
// the call that made it.
type Stub struct {
	URL    string
	Path   string
	Header http.Header
	Body   map[string]any
	Count  int
}

// Serve starts a stub that answers with h and stops with the test.
func Serve(t *testing.T, h http.HandlerFunc) *Stub {
	t.Helper()
	s := &Stub{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Path, s.Header, s.Body = r.URL.Path, r.Header, nil
		s.Count++
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(raw, &s.Body)
		}
		if err != nil {
			t.Errorf("request body: %v", err)
		}
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Compare checks the latest request against a golden file.
func (s *Stub) Compare(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, s.Body); d != "" {
		t.Errorf("request (-want +got):\n%s", d)
	}
}

// Replay answers with the transcript testdata/NAME.sse.
func Replay(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = w.Write(raw)
	}
}

// Cut sends the beginning of an answer and breaks the connection.
func Cut(part string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		flush(w, part)
		panic(http.ErrAbortHandler)
	}
}

// Hang sends the beginning of an answer, then nothing until the client goes.
func Hang(part string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		flush(w, part)
		<-r.Context().Done()
	}
}

func flush(w http.ResponseWriter, part string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte(part))
	_ = http.NewResponseController(w).Flush()
}

// Status answers with a status, a body and pairs of header names and values.
func Status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// Result is a whole stream.
type Result struct {
	Text, Thinking string
	Calls          []model.Call
	Done           *model.Event
	Err            error
	After          int // events behind Done or an error; must be 0
}

// Read drains a stream.
func Read(ctx context.Context, p model.Provider, req model.Request) (r Result) {
	for ev, err := range p.Stream(ctx, req) {
		if r.Done != nil || r.Err != nil {
			r.After++
		}
		if err != nil {
			r.Err = err
			continue
		}
		switch ev.Kind {
		case model.Text:
			r.Text += ev.Text
		case model.Thinking:
			r.Thinking += ev.Text
		case model.CallDelta:
			r.merge(ev)
		case model.Done:
			r.Done = &ev
		}
	}
	return r
}

func (r *Result) merge(ev model.Event) {
	for len(r.Calls) <= ev.Index {
		r.Calls = append(r.Calls, model.Call{})
	}
	c := &r.Calls[ev.Index]
	if ev.ID != "" {
		c.ID = ev.ID
	}
	if ev.Name != "" {
		c.Name = ev.Name
	}
	c.Arguments += ev.Arguments
}

// Error is err as a *model.Error, which it must be.
func Error(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T %v, want *model.Error", err, err)
	}
	return e
}
