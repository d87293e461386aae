package work_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"parley.internal/internal/lease"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
	"parley.internal/test/pgtest"
)

// image copies what is on disk now: what a hub killed at this moment leaves behind.
func image(t *testing.T, from *sql.DB, to string) string {
	t.Helper()
	if _, err := from.ExecContext(t.Context(), `VACUUM INTO ?`, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// A hub killed after any event it told goes on from there: what was told is in the
// log with the same number and words, nothing is missing or doubled, and a call
// that may have happened is not made again.
func TestATaskGoesOnFromAnyEventItsHubWasKilledAfter(t *testing.T) {
	path, folder := storetest.File(t), pgtest.Folder(t)
	h := newHub(t, storetest.Open(t, path))
	eye, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = eye.Close() }()
	r := h.submit(continuing(goal("/say one two", `/tool shell {"command":"echo x >> ran.txt"}`, "/say three")))
	var images []string
	for over := false; !over; {
		over = viber.Ends(r.read())
		images = append(images, image(t, eye, filepath.Join(folder, fmt.Sprintf("%d.db", len(images)+1))))
	}
	told := make([]string, len(r.events))
	for i, ev := range r.events {
		told[i] = wireForm(t, ev)
	}
	for i, path := range images {
		next := newHub(t, storetest.Open(t, path), withLease(lease.Options{Alone: true}), withDeps(func(d *work.Deps) { d.Limits.Sweep = 1 }))
		back := next.followAll(r.id)
		done := back.completed()
		back.numbered()
		called := false
		for n, ev := range back.events[:i+1] {
			if got := wireForm(t, ev); got != told[n] {
				t.Errorf("killed after event %d, event %d is %s, was %s", i+1, n+1, got, told[n])
			}
			d, ok := ev.(*viber.TaskDelta)
			called = called || ok && d.DeltaType == viber.DeltaToolCall
		}
		for _, p := range ofType[*viber.TaskProgress](back) {
			if p.Status == "" {
				t.Errorf("killed after event %d, event %d is progress without a status", i+1, p.Seq)
			}
		}
		if text := back.text(); text != done.Result.Text {
			t.Errorf("killed after event %d: %q was streamed, %q is the result", i+1, text, done.Result.Text)
		}
		ran, err := os.ReadFile(filepath.Join(next.workspace, "ran.txt"))
		// What is on disk may be a little further than what was told.
		if left := string(ran); left != "" && (called || left != "x\n") || err != nil && !os.IsNotExist(err) {
			t.Errorf("killed after event %d, with the call told: %v; the command left %q", i+1, called, ran)
		}
		next.stop()
	}
}

func wireForm(t *testing.T, ev viber.TaskEvent) string {
	t.Helper()
	data, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
