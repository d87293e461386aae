package work_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/protocol/viber"
)

// A command that printed a lot and failed looked fine: what was cut took the exit code along.
func TestALargeResultKeepsItsFields(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal(`/tool shell {"command":"yes x | head -c 150000; exit 7"}`, "/say done"))
	r.completed()
	raw := r.results()["call_1_1"]
	var got struct {
		OK     bool `json:"ok"`
		Output struct {
			Exit      *int   `json:"exit_code"`
			Stdout    string `json:"stdout"`
			Truncated bool   `json:"truncated"`
		} `json:"output"`
	}
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	if got.Output.Exit == nil || *got.Output.Exit != 7 || !got.Output.Truncated || !strings.HasPrefix(got.Output.Stdout, "x\nx\n") || len(raw) > viber.MaxToolResult {
		t.Errorf("the result of %d bytes has exit code %v, truncated %v, want 7, true and at most %d bytes", len(raw), got.Output.Exit, got.Output.Truncated, viber.MaxToolResult)
	}
}

// Whoever follows a task sees that its provider fails, and when it is asked again.
func TestARetryOfTheProviderIsTold(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/fail-once 500", "/say done"))
	r.completed()
	for _, p := range ofType[*viber.TaskProgress](r) {
		if p.RetryAfterMS > 0 && strings.Contains(p.Message, "attempt 2") {
			return
		}
	}
	t.Errorf("no progress tells of the retry: %s", r.describe())
}

// An event has the time it happened, whenever it is read; a failed task says why and when.
func TestEventsKeepTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		began := time.Now()
		r := h.submit(goal("/sleep 5000", "/fail 400 no"))
		e := r.failed(viber.CodeProviderError)
		<-time.After(time.Hour)
		back := h.followAll(r.id)
		back.end()
		for _, ev := range back.events {
			if at := ev.Ref().At.Sub(began); at < 0 || at > 10*time.Second {
				t.Errorf("%s is %v after the beginning, want what it was", ev.Type(), at)
			}
		}
		if at := back.events[len(back.events)-1].Ref().At.Sub(began); at < 5*time.Second {
			t.Errorf("the end is %v after the beginning, want at least 5s", at)
		}
		snap, err := h.Snapshot(ctx, alice, r.id)
		if err != nil || snap.Error == nil || snap.Error.Message != e.Error.Message || snap.EndedAt.Sub(began) < 5*time.Second || snap.EndedAt.Sub(began) > 10*time.Second {
			t.Errorf("the task as it is now: error %+v, end %v (%v), want why and when it failed", snap.Error, snap.EndedAt, err)
		}
	})
}
