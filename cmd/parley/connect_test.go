package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/client/viber"
	wire "parley.internal/protocol/kenny"
)

// A command that comes too soon comes again, when the hub says.
func TestACommandWaitsWhenTheHubAsksItTo(t *testing.T) {
	asked := 0
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Error("the hub cannot see that this is no stranger")
		}
		if asked++; asked == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer hub.Close()
	_, err := dialPatiently(t.Context(), strings.Replace(hub.URL, "http", "ws", 1), viber.Options{Token: "secret"})
	if err == nil || asked != 2 {
		t.Errorf("the hub was asked %d times: %v, want twice", asked, err)
	}
}

func TestTheMachinesNameMakesAnID(t *testing.T) {
	id := machineID()
	if err := wire.CheckID(id); err != nil || !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(id) {
		t.Errorf("%q: %v; want no error, regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(id)", id, err)
	}
}

// A tool server that was told to stop went on for as long as its client kept the pipe open.
func TestAnInputEndsWithItsProgram(t *testing.T) {
	for name, cause := range map[string]func(cancel func(), into *io.PipeWriter){
		"told to stop": func(cancel func(), _ *io.PipeWriter) { cancel() },
		"no more":      func(_ func(), into *io.PipeWriter) { _ = into.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in, into := io.Pipe()
			defer func() { _ = into.Close() }()
			out := endsWith(ctx, in)
			line := make([]byte, 5)
			go func() { _, _ = io.WriteString(into, "hello") }()
			if _, err := io.ReadFull(out, line); err != nil || string(line) != "hello" {
				t.Fatalf("%q came through: %v, want hello", line, err)
			}
			cause(cancel, into)
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
				t.Errorf("after its end the input had %q: %v, want nothing", rest, err)
			}
		})
	}
}

// A hub that needed more than three seconds was said not to run.
func TestAHubThatAnswersLateRunsAllTheSame(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-time.After(3500 * time.Millisecond) }))
	defer busy.Close()
	if !answers(t.Context(), busy.URL) {
		t.Error("a hub that answers after three seconds is said not to run")
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if answers(t.Context(), gone.URL) {
		t.Error("a hub is found where nothing listens")
	}
}
