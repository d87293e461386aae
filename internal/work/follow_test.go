package work_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

func TestWhoeverComesBackMissesNothing(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/chunks 40", "/pace 2", "/say "+strings.Repeat("word ", 60), "/tool file_list {}", "/say end"))
	for range 12 {
		r.read()
	}
	r.stop() // the connection is gone; the task is not
	stream, err := h.Follow(ctx, alice, r.id, 12)
	if err != nil {
		t.Fatal(err)
	}
	back := h.follow(stream)
	if snap := stream.Snapshot; snap.Gap || snap.TaskID != r.id || snap.LastSeq < 12 || snap.OldestSeq != 1 || !strings.HasPrefix(strings.Repeat("word ", 60)+"end", snap.Text) {
		t.Errorf("%+v", snap)
	}
	done := back.completed()
	all := append(r.events, back.events...)
	text := ""
	for i, ev := range all {
		if ev.Ref().Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, ev.Ref().Seq)
		}
		if d, ok := ev.(*viber.TaskDelta); ok {
			text += d.Text
		}
	}
	if text != done.Result.Text {
		t.Errorf("%q, %q; want %v", text, done.Result.Text, done.Result.Text)
	}
}

func TestAllFollowersSeeOneOrder(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/chunks 50", "/pace 1", "/say "+strings.Repeat("x y ", 100)))
	type seen struct {
		events []viber.TaskEvent
		err    error
	}
	results := make(chan seen, 5)
	for range 5 {
		stream, err := h.Follow(ctx, alice, r.id, 0)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var s seen
			for ev, err := range stream.Events(ctx) {
				if err != nil {
					s.err = err
					break
				}
				s.events = append(s.events, ev)
			}
			results <- s
		}()
	}
	r.completed()
	for range 5 {
		s := <-results
		if diff := cmp.Diff(r.events, s.events); s.err != nil || diff != "" {
			t.Errorf("%v %s; want s.err to be nil, no difference", s.err, diff)
		}
	}
}

func TestAFinishedTaskCanBeFollowed(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say all of it"))
	r.completed()
	last := int64(len(r.events))
	for after := range last + 1 {
		stream, err := h.Follow(ctx, alice, r.id, after)
		if err != nil {
			t.Fatal(err)
		}
		if s := stream.Snapshot; s.Status != viber.TaskDone || s.Text != "all of it" || s.LastSeq != last || s.Goal != "/say all of it" {
			t.Errorf("%+v; want s.Status to be %v, s.Text to be \"all of it\", s.LastSeq to be %v, s.Goal to be \"/say all of it\"", s, viber.TaskDone, last)
		}
		var got []viber.TaskEvent
		for ev, err := range stream.Events(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev)
		}
		if diff := cmp.Diff(r.events[after:], got, cmp.Transformer("empty", func(l []viber.TaskEvent) []viber.TaskEvent { return append([]viber.TaskEvent{}, l...) })); diff != "" && len(got)+int(after) != len(r.events) {
			t.Errorf("after %d: %s", after, diff)
		}
	}
	for _, after := range []int64{last + 1, 1 << 60, -1} {
		if _, err := h.Follow(ctx, alice, r.id, after); !errors.Is(err, work.ErrBadCursor) {
			t.Errorf("after %d: %v", after, err)
		}
	}
	if _, err := h.Follow(ctx, bob, r.id, 0); !errors.Is(err, work.ErrNotFound) {
		t.Errorf("foreign: %v", err)
	}
	admin := person("root", identity.Admin)
	if _, err := h.Follow(ctx, admin, r.id, 0); err != nil {
		t.Errorf("an admin: %v", err)
	}
}

// Before anything of a log is lost its text deltas are merged: all of it can still be
// read, from the beginning and from every number.
func TestALogThatGrowsTooLargeHasItsTextMergedFirst(t *testing.T) {
	h := newHub(t, sqlite(t), withLimits(work.Limits{LogBytes: 5 << 10}))
	seen := make(chan struct{}, 1)
	h.models.play = func(ctx context.Context, _ model.Request, yield func(model.Event, error) bool) bool {
		for i := range 140 {
			if !yield(model.Event{Kind: model.Text, Text: fmt.Sprint(i % 10)}, nil) {
				return true
			}
			select { // one delta for each
			case <-seen:
			case <-ctx.Done():
				return true
			}
		}
		yield(model.Event{Kind: model.Done, Finish: model.FinishStop}, nil)
		return true
	}
	r := h.submit(goal("count"))
	for ev := r.read(); ev != nil; ev = r.read() {
		if _, ok := ev.(*viber.TaskDelta); ok {
			seen <- struct{}{}
		}
	}
	text := r.text()
	whole, seqs := replayed(t, h, r.id, 0)
	if whole != text || len(text) != 140 {
		t.Fatalf("%d bytes of %d", len(whole), len(text))
	}
	if len(seqs) >= len(r.events) {
		t.Fatalf("none of %d events was merged", len(r.events))
	}
	// Somebody who watched and left after any event has the text when they come back.
	had := ""
	for _, ev := range r.events {
		if d, ok := ev.(*viber.TaskDelta); ok {
			had += d.Text
		}
		if rest, _ := replayed(t, h, r.id, ev.Ref().Seq); had+rest != text {
			t.Errorf("after %d: %d and %d bytes of %d", ev.Ref().Seq, len(had), len(rest), len(text))
		}
	}
}

// replayed is the text of what is logged after an event, and the numbers. Each event
// begins right after the one before.
func replayed(t *testing.T, h *hub, id string, after int64) (text string, seqs []int64) {
	t.Helper()
	last := after
	for ev, err := range h.Events(ctx, alice, id, after) {
		if err != nil {
			t.Fatal(err)
		}
		first := ev.Ref().Seq
		if d, ok := ev.(*viber.TaskDelta); ok {
			text += d.Text
			first = d.FirstSeq()
		}
		if first != last+1 {
			t.Fatalf("an event from %d follows %d", first, last)
		}
		last = ev.Ref().Seq
		seqs = append(seqs, last)
	}
	return text, seqs
}

func TestALogThatGrowsTooLargeLosesItsBeginningAndNoText(t *testing.T) {
	h := newHub(t, sqlite(t), withLimits(work.Limits{LogBytes: 8 << 10}))
	text := strings.Repeat("0123456789abcdef", 1024)
	r := h.submit(goal("/chunks 200", "/pace 1", "/say "+text, "/sleep 300000"))
	for ok := false; !ok; {
		snap, err := h.Snapshot(ctx, alice, r.id)
		if err != nil {
			t.Fatal(err)
		}
		ok = snap.Text == text
		if !strings.HasPrefix(text, snap.Text) {
			t.Fatalf("the text is wrong: %d bytes", len(snap.Text))
		}
	}
	stream, err := h.Follow(ctx, alice, r.id, 1)
	if err != nil || !stream.Snapshot.Gap || stream.Snapshot.OldestSeq <= 2 || stream.Snapshot.Text != text {
		t.Fatalf("%+v %v; want no error, stream.Snapshot.Gap, stream.Snapshot.OldestSeq to be more than 2, stream.Snapshot.Text to be %v", stream.Snapshot, err, text)
	}
	back := h.follow(stream)
	if d, ok := back.read().(*viber.TaskDelta); !ok || d.FirstSeq() != stream.Snapshot.OldestSeq {
		t.Errorf("the replay begins with %+v", d)
	}
	if stopped := r.stopOnly(); stopped.PartialResult.Text != text {
		t.Error("the partial text is wrong")
	}
	back.end()
}

// stopOnly stops without reading.
func (r *run) stopOnly() *viber.TaskStopped { return r.stopTask() }

// TestAnyCutGivesTheSameEvents: whoever leaves and comes back, at any event and as
// often as they like, has seen the same as somebody who stayed.
func TestAnyCutGivesTheSameEvents(t *testing.T) {
	h := newHub(t, sqlite(t), withLimits(work.Limits{SubmitBurst: 10000, SubmitsPerMinute: 100000}))
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				lines = append(lines, fmt.Sprintf("/say line %d with words", i))
			case 1:
				lines = append(lines, "/tool file_list {}")
			case 2:
				lines = append(lines, "/chunks 7", "/pace 1")
			case 3:
				lines = append(lines, "/usage 3 1")
			}
		}
		sub, err := h.Submit(ctx, alice, work.SubmitRequest{Key: newKey(), Submit: goal(append(lines, "/say end")...)})
		if err != nil {
			t.Fatal(err)
		}
		var got []viber.TaskEvent
		stream := sub.Stream
		for len(got) == 0 || !viber.Ends(got[len(got)-1]) {
			leave := rapid.IntRange(1, 8).Draw(t, "leave")
			reading, stop := context.WithTimeout(ctx, time.Minute)
			for ev, err := range stream.Events(reading) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, ev)
				if leave--; leave == 0 {
					break
				}
			}
			stop()
			if stream, err = h.Follow(ctx, alice, sub.TaskID, int64(len(got))); err != nil {
				t.Fatal(err)
			}
		}
		var want []viber.TaskEvent
		for ev, err := range h.Events(ctx, alice, sub.TaskID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, ev)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestListing(t *testing.T) {
	h := newHub(t, sqlite(t))
	var ids []string
	for i := range 5 {
		r := h.submit(goal(fmt.Sprintf("/say %d", i)))
		r.completed()
		ids = append(ids, r.id)
	}
	h.submitKey(bob, "k", goal("/say bob's")).completed()
	waiting := h.submit(mode(goal(`/tool shell {"command":"touch x"}`), viber.AgentDecides))
	untilType[*viber.ApprovalRequired](waiting)
	var got []string
	cursor := ""
	for range 10 {
		page, err := h.List(ctx, alice, viber.TaskList{Status: viber.TaskDone, Limit: 2, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Tasks {
			got = append(got, s.TaskID)
			if s.LastSeq == 0 || s.EndedAt.IsZero() || s.Agent != "parley" {
				t.Errorf("%+v; want s.LastSeq not to be 0, not s.EndedAt.IsZero(), s.Agent to be \"parley\"", s)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	want := []string{ids[4], ids[3], ids[2], ids[1], ids[0]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	paused, err := h.List(ctx, alice, viber.TaskList{Status: viber.TaskPaused})
	if err != nil || len(paused.Tasks) != 1 || paused.Tasks[0].PendingApprovals != 1 || !paused.Tasks[0].EndedAt.IsZero() {
		t.Errorf("%+v %v", paused, err)
	}
	if all, err := h.List(ctx, person("root", identity.Admin), viber.TaskList{}); err != nil || len(all.Tasks) != 7 {
		t.Errorf("an admin sees %d, %v", len(all.Tasks), err)
	}
	if _, err := h.List(ctx, alice, viber.TaskList{Cursor: "'; DROP"}); err == nil {
		t.Error("a bad cursor is taken")
	}
	waiting.stopTask()
}
