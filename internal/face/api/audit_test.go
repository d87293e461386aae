package api_test

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/client/hubapi"
)

// The chart of the trail agrees with the entries, whatever is filtered for.
func TestTheHoursOfTheTrailCountWhatTheFilterLetsThrough(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	for _, name := range []string{"one", "two", "three"} {
		must(r.owner.CreateToken(ctx, hubapi.TokenRequest{Name: name, Principal: name, Scopes: []string{"talk"}}))(t)
	}
	// Whoever is turned away is on record a moment later.
	_, err := hubapi.WithTransport(r.url, "prl_wrong", r.client).Conversations(ctx, "", "")
	refused(t, "a wrong token", "unauthorized", err)
	turnedAway := hubapi.AuditFilter{Action: "auth.refused"}
	for len(must(r.owner.Audit(ctx, turnedAway))(t)) == 0 {
		continue
	}
	made := must(r.owner.Audit(ctx, hubapi.AuditFilter{Action: "token.created"}))(t)
	away := must(r.owner.Audit(ctx, turnedAway))(t)
	if len(made) < 3 || made[0].Outcome != "ok" || len(away) != 1 || away[0].Outcome == "ok" {
		t.Fatalf("made %+v, turned away %+v", made, away)
	}

	mine := slices.DeleteFunc(slices.Clone(made), func(e hubapi.AuditEntry) bool { return e.Actor != made[0].Actor })
	if len(mine) < 3 || len(mine) == len(made) {
		t.Fatalf("%d of %d are the owner's: the hub made one itself", len(mine), len(made))
	}

	type counts struct{ Count, Failed int64 }
	for name, c := range map[string]struct {
		filter url.Values
		want   []hubapi.AuditEntry
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
