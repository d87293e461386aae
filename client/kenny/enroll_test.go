package kenny

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	wire "parley.internal/protocol/kenny"
)

func TestEnrolmentSendsKeyAndToken(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		err := json.NewDecoder(r.Body).Decode(&body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/agents/studio-3/enroll" || r.URL.RawQuery != "" ||
			r.Header.Get("Authorization") != "Bearer one-time" || len(body) != 1 || body["public_key"] != wire.FormatPublicKey(public(machineKey)) {
			t.Errorf("%s %s %v %v %v", r.Method, r.URL, r.Header, body, err)
		}
		fmt.Fprint(w, `{"ok":true,"agent_id":"studio-3"}`)
	}))
	defer srv.Close()
	if err := Enroll(t.Context(), srv.URL+"/agent/ws", "studio-3", "one-time", public(machineKey)); err != nil {
		t.Error(err)
	}
}

func TestEnrolmentAnswersAreTyped(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   error
	}{
		{400, `{"ok":false,"error":{"code":"bad_key","message":"not a point"}}`, ErrEnrollInvalid},
		{401, `{"ok":false}`, ErrEnrollToken},
		{409, ``, ErrEnrollConflict},
		{429, `slow down`, ErrEnrollBusy},
		{503, ``, ErrEnrollBusy},
		{500, `oops`, ErrEnrollAnswer},
		{302, ``, ErrEnrollAnswer},
		{200, `{"ok":false}`, ErrEnrollAnswer},
		{200, `{"ok":true,"agent_id":"another"}`, ErrEnrollAnswer},
		{200, `<html>`, ErrEnrollAnswer},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "9")
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		err := Enroll(t.Context(), srv.URL, "studio-3", "t", public(machineKey), WithHTTPClient(&http.Client{}))
		srv.Close()
		var e *EnrollError
		if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Status != c.status || e.RetryAfter != 9*time.Second || e.Error() == "" {
			t.Errorf("%d: %v", c.status, err)
		}
		if c.status == 400 && (e.Code != "bad_key" || e.Message != "not a point") {
			t.Errorf("%+v", e)
		}
	}
}

func TestEnrolmentKeepsTheTokenSafe(t *testing.T) {
	for name, err := range map[string]error{
		"plain text": Enroll(t.Context(), "http://hub.example.com", "studio-3", "t", public(machineKey)),
		"bad id":     Enroll(t.Context(), "https://hub.example.com", "a/b", "t", public(machineKey)),
		"bad key":    Enroll(t.Context(), "https://hub.example.com", "studio-3", "t", make([]byte, 32)),
		"nobody":     Enroll(t.Context(), "http://127.0.0.1:1", "studio-3", "t", public(machineKey), WithInsecurePlaintext()),
	} {
		var e *EnrollError
		if err == nil || errors.As(err, &e) {
			t.Errorf("%s: %v; want an error, not errors.As(err, &e)", name, err)
		}
	}
}
