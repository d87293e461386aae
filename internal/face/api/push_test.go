package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func (r *rig) status(t *testing.T, method, path, token, body string) int {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp := must((&http.Client{Transport: r.client}).Do(req))(t)
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestOnlyALoggedInPageCanAskForPushMessages(t *testing.T) {
	r := newRig(t)
	body := `{"endpoint":"https://push.example.org/1","p256dh":"AAAA","auth":"AAAA"}`
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"nobody":            {"", 401},
		"without the scope": {r.alice.Token(), 403},
		"a program":         {r.owner.Token(), 400},
	} {
		if got := r.status(t, "POST", "/api/push/subscriptions", c.token, body); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := r.status(t, "GET", "/api/push", r.owner.Token(), ""); got != 200 {
		t.Errorf("the key: %d", got)
	}
	if got := r.status(t, "DELETE", "/api/push/subscriptions?endpoint=x", r.owner.Token(), ""); got != 204 {
		t.Errorf("ending what is not there: %d", got)
	}
}
