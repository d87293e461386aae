package brain_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
)

func TestEarlyEventsComeBeforeTheEndAndOnlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early := ""
		policy := brain.TurnPolicy()
		policy.Early = func(ev *model.Event) { early += ev.Text }
		a, err := listen(t.Context(), &fake{acts: []act{says("one ", "two ", "three")}}, policy)
		if err != nil || early != "one two three" || a.Text() != "" || !a.Complete {
			t.Errorf("%q early, then %q, %v", early, a.Text(), err)
		}
	})
}

// A provider that falls silent is noticed as if its words had come the usual way, and
// what it says after the call was given up reaches nobody.
func TestSilenceAfterEarlyEventsEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early := ""
		policy := brain.TurnPolicy()
		policy.FirstToken, policy.BetweenTokens = 120*time.Second, 20*time.Second
		policy.Early = func(ev *model.Event) { early += ev.Text }
		slow := func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
			for _, wait := range []time.Duration{100 * time.Second, 19 * time.Second, 19 * time.Second, 21 * time.Second} {
				<-time.After(wait)
				yield(model.Event{Kind: model.Text, Text: "."}, nil)
			}
		}
		began := time.Now()
		_, err := listen(t.Context(), &fake{acts: []act{slow, says("never")}}, policy)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Cause != model.CauseTimeout {
			t.Errorf("%v; want errors.As(err, &failed), failed.Cause to be %v", err, model.CauseTimeout)
		}
		if took := time.Since(began).Truncate(time.Second); took != 158*time.Second {
			t.Errorf("it took %s", took)
		}
		<-time.After(time.Minute)
		if early != "..." {
			t.Errorf("%q; want early to be \"...\"", early)
		}
	})
}
