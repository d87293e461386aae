package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
)

// The chart of the trail agrees with the entries, whatever is filtered for.
func TestTheHoursOfTheTrailCountWhatTheFilterLetsThrough(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	for _, name := range []string{"one", "two", "three"} {
		must(hubapi.Call(ctx, r.owner, rest.CreateToken, rest.TokenRequest{Name: name, Principal: name, Scopes: []string{"talk"}}))(t)
	}
	// Whoever is turned away is on record a moment later.
	_, err := hubapi.Call(ctx, hubapi.WithTransport(r.url, "prl_wrong", r.client), rest.ListConversations, rest.ConversationQuery{})
	refused(t, "a wrong token", "unauthorized", err)
	turnedAway := rest.AuditQuery{Action: "auth.refused"}
	for len(must(hubapi.Call(ctx, r.owner, rest.ListAudit, turnedAway))(t).Entries) == 0 {
		continue
	}
	made := must(hubapi.Call(ctx, r.owner, rest.ListAudit, rest.AuditQuery{Action: "token.created"}))(t).Entries
	away := must(hubapi.Call(ctx, r.owner, rest.ListAudit, turnedAway))(t).Entries
	if len(made) < 3 || made[0].Outcome != "ok" || len(away) != 1 || away[0].Outcome == "ok" {
		t.Fatalf("made %+v, turned away %+v", made, away)
	}

	mine := slices.DeleteFunc(slices.Clone(made), func(e rest.AuditEntry) bool { return e.Actor != made[0].Actor })
	if len(mine) < 3 || len(mine) == len(made) {
		t.Fatalf("%d of %d are the owner's: the hub made one itself", len(mine), len(made))
	}

	type counts struct{ Count, Failed int64 }
	for name, c := range map[string]struct {
		filter url.Values
		want   []rest.AuditEntry
	}{
		"an action":                  {url.Values{"action": {"token.created"}}, made},
		"the beginning of actions":   {url.Values{"action": {"token.cre"}}, made},
		"what failed":                {url.Values{"action": {"auth.refused"}}, away},
		"an outcome":                 {url.Values{"action": {"auth."}, "outcome": {away[0].Outcome}}, away},
		"an outcome it did not have": {url.Values{"action": {"token.created"}, "outcome": {away[0].Outcome}}, nil},
		"a target":                   {url.Values{"action": {"token.created"}, "target": {made[0].Target}}, made[:1]},
		"an actor":                   {url.Values{"action": {"token.created"}, "actor": {made[0].Actor}}, mine},
		"an actor who did nothing":   {url.Values{"actor": {"person:nobody"}}, nil},
	} {
		c.filter.Set("hours", "3")
		var out struct {
			Hours []struct {
				At     time.Time `json:"at"`
				Count  int64     `json:"count"`
				Failed int64     `json:"failed"`
			} `json:"hours"`
		}
		if err := r.owner.Do(ctx, "GET", "/api/audit/hours", c.filter, nil, &out); err != nil {
			t.Fatal(err)
		}
		got, want := map[time.Time]counts{}, map[time.Time]counts{}
		for i, h := range out.Hours {
			if h.Count > 0 {
				got[h.At.UTC()] = counts{h.Count, h.Failed}
			}
			if i > 0 && !h.At.Equal(out.Hours[i-1].At.Add(time.Hour)) {
				t.Errorf("%s: an hour is missing before %v", name, h.At)
			}
		}
		for _, e := range c.want {
			n := want[e.At.UTC().Truncate(time.Hour)]
			n.Count++
			if e.Outcome != "ok" {
				n.Failed++
			}
			want[e.At.UTC().Truncate(time.Hour)] = n
		}
		if diff := cmp.Diff(want, got); diff != "" || len(out.Hours) != 3 {
			t.Errorf("%s: %d hours, %s", name, len(out.Hours), diff)
		}
	}
	refused(t, "no hours at all", "bad_request", r.owner.Do(ctx, "GET", "/api/audit/hours", url.Values{"hours": {"0"}}, nil, nil))
	refused(t, "somebody who may not read the trail", "insufficient_scope", r.alice.Do(ctx, "GET", "/api/audit/hours", nil, nil, nil))
}

// of waits until the trail has entries of an action, which are written a moment later.
func (r *rig) of(t *testing.T, action string, n int) []rest.AuditEntry {
	t.Helper()
	for {
		found := must(hubapi.Call(t.Context(), r.owner, rest.ListAudit, rest.AuditQuery{Action: action}))(t).Entries
		if len(found) >= n {
			return found
		}
	}
}

func TestARequestWithoutItsScopeIsInTheTrailOnce(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	_, err := hubapi.Call(ctx, r.alice, rest.CreateToken, rest.TokenRequest{Name: "more"})
	refused(t, "a token for somebody who may only talk", "insufficient_scope", err)
	got := r.of(t, "scope.refused", 1)
	if len(got) != 1 || got[0].Actor != "person:alice" || got[0].Target != "POST /api/tokens" || got[0].Outcome != "insufficient_scope" || got[0].Detail["scope"] != "device:manage" {
		t.Errorf("one entry about the refused request, got %+v", got)
	}
	// What a caller can repeat at will fills the trail no further than this.
	for range 40 {
		_, err := hubapi.Call(ctx, r.alice, rest.ListTokens, rest.None{})
		refused(t, "listing tokens", "insufficient_scope", err)
	}
	if _, err := hubapi.Call(ctx, hubapi.WithTransport(r.url, "prl_wrong", r.client), rest.ListTokens, rest.None{}); err == nil {
		t.Error("a wrong token was accepted")
	}
	r.of(t, "auth.refused", 1) // behind everything that was noted before it
	if got := r.of(t, "scope.refused", 1); len(got) != 20 {
		t.Errorf("41 refused requests made %d entries, want 20", len(got))
	}
}

func TestADeadCookieAndAForeignFormAreInTheTrail(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	login := func(cookie, csrf string) int {
		req := must(http.NewRequestWithContext(ctx, http.MethodDelete, r.url+"/api/session", nil))(t)
		req.AddCookie(&http.Cookie{Name: "parley_session", Value: cookie})
		req.Header.Set("X-Parley-CSRF", csrf)
		res := must((&http.Client{Transport: r.client}).Do(req))(t)
		_ = res.Body.Close()
		return res.StatusCode
	}
	if status := login("prc_"+strings.Repeat("A", 43), ""); status != http.StatusUnauthorized {
		t.Errorf("a dead cookie: %d", status)
	}
	body := strings.NewReader(`{"token":"` + r.owner.Token() + `"}`)
	req := must(http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/api/session", body))(t)
	req.Header.Set("Content-Type", "application/json")
	res := must((&http.Client{Transport: r.client}).Do(req))(t)
	_ = res.Body.Close()
	if len(res.Cookies()) != 1 {
		t.Fatalf("logging in: %s", res.Status)
	}
	if status := login(res.Cookies()[0].Value, "another page's"); status != http.StatusForbidden {
		t.Errorf("a form of another page: %d", status)
	}
	var outcomes []string
	for _, e := range r.of(t, "auth.refused", 2) {
		outcomes = append(outcomes, e.Outcome)
	}
	slices.Sort(outcomes)
	if diff := cmp.Diff([]string{"csrf", "unknown_token"}, outcomes); diff != "" {
		t.Errorf("each once in the trail:\n%s", diff)
	}
}
