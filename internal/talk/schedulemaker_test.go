package talk_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
)

// Somebody sets up a schedule, and later their token is revoked. The schedule had gone on as an admin for ever.
func TestAScheduleActsAsItsMakerAndEndsWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		var people *identity.Directory
		h := newHub(t, db, withLimits(talk.Limits{Sweep: time.Hour}), func(h *hub, d *talk.Deps) {
			var err error
			if people, err = identity.Open(t.Context(), db, h.bus, identity.Options{Recheck: 24 * time.Hour}); err != nil {
				t.Fatal(err)
			}
			d.Local, d.People = time.UTC, people
			h.skills["report"] = talk.Skill{Name: "report", Body: "Write the report."}
		})
		defer h.stop()
		defer func() { _ = people.Close() }()
		first, err := people.Bootstrap(t.Context(), "owner")
		if err != nil {
			t.Fatal(err)
		}
		owner, err := people.Authenticate(t.Context(), first.Secret)
		if err != nil {
			t.Fatal(err)
		}
		token, err := people.CreateToken(t.Context(), owner, identity.TokenRequest{Name: "bob's", Principal: "bob", Scopes: []string{"talk"}, TTL: 30 * 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		bob, err := people.Authenticate(t.Context(), token.Secret)
		if err != nil {
			t.Fatal(err)
		}
		key := talk.Key{Agent: "crab", Sender: bob.Sender()}
		if _, err := h.CreateSchedule(t.Context(), bob, talk.Schedule{Schedule: "0 * * * *", Skill: "report", Key: key}); err != nil {
			t.Fatal(err)
		}
		fired := func() int { return strings.Count(strings.Join(h.stored(key), "\n"), "user /report") }
		<-time.After(2*time.Hour + time.Minute)
		if n := fired(); n != 2 {
			t.Fatalf("it fired %d times in two hours, want 2", n)
		}
		if err := people.Revoke(t.Context(), owner, token.ID); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Hour)
		if n := fired(); n != 2 {
			t.Errorf("it fired %d times after its maker's token was revoked, want none", n-2)
		}
		list, err := h.Schedules(t.Context(), anybody)
		if err != nil || len(list) != 1 || !list[0].Next.IsZero() || !strings.Contains(list[0].LastError, "may not any more") {
			t.Errorf("it is listed as %+v (%v), want it to say why it fires no more", list, err)
		}
	})
}
