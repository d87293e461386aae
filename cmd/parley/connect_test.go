package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

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
		t.Errorf("%q: %v", id, err)
	}
}
