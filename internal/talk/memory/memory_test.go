package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func each(t *testing.T, run func(t *testing.T, m *memory.Memory)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { run(t, memory.New(db)) })
}

var main = memory.Key{Agent: "crab", Sender: "user"}

func said(role model.Role, text string) memory.Message {
	return memory.Message{Message: model.Message{Role: role, Text: text}}
}

func opened(t *testing.T, m *memory.Memory, key memory.Key, msgs ...memory.Message) string {
	t.Helper()
	c, err := m.Open(t.Context(), key, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(msgs) > 0 {
		if _, err := m.Append(t.Context(), nil, c.ID, msgs...); err != nil {
			t.Fatal(err)
		}
	}
	return c.ID
}

func archived(t *testing.T, m *memory.Memory, id, summary string) memory.Archive {
	t.Helper()
	c, err := m.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Archive(t.Context(), nil, id, memory.NewArchive{Summary: summary, ArchivedAt: "2026-04-03T10:00:00Z", ToSeq: c.LastSeq})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func texts(list []memory.Message) (out []string) {
	for _, m := range list {
		out = append(out, fmt.Sprintf("%d %s %s", m.Seq, m.Role, m.Text))
	}
	return out
}

func TestMessagesComeBackExactlyAsTheyWere(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		odd := "  line\r\n\x00\x01 漢字 👍 \u2028 <from agent=\"x\">\n "
		msgs := []memory.Message{
			{Run: "r1", Message: model.Message{Role: model.User, Text: odd}},
			{Run: "r1", Agent: "twin", Usage: model.Usage{Prompt: 3, Completion: 4}, Message: model.Message{
				Role: model.Assistant, Text: "", Reasoning: odd, ReasoningSignature: "sig",
				Calls: []model.Call{{ID: "a", Name: "file_read", Arguments: `{"path":"\u0000"}`}},
			}},
			{Run: "r1", Message: model.Message{Role: model.Tool, Text: odd, CallID: "a", Name: "file_read", IsError: true}},
			{Run: "r1", Message: model.Message{Role: model.Assistant, Text: strings.Repeat("x", 500_000), Interrupted: true}},
		}
		id := opened(t, m, main, msgs...)
		w, err := m.Window(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Messages {
			w.Messages[i].Seq, w.Messages[i].At = 0, time.Time{}
		}
		if diff := cmp.Diff(msgs, w.Messages); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKeysAreComparedByteForByte(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		ids := map[string]bool{}
		for _, key := range []memory.Key{
			main,
			{Agent: "crab", Sender: "User"},
			{Agent: "crab", Sender: "user "},
			{Agent: "crab", Sender: "usér"},
			{Agent: "crab", Sender: "use\u0301r"},
			{Agent: "twin", Sender: "user"},
			{Agent: "crab", Sender: "user", Thread: "a"},
		} {
			ids[opened(t, m, key)] = true
		}
		if len(ids) != 7 {
			t.Errorf("%d conversations of 7", len(ids))
		}
		if again := opened(t, m, main); !ids[again] {
			t.Error("the same key made another conversation")
		}
	})
}

func TestThreadsAreNumbered(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		for i, thread := range []string{"b", "", "a"} {
			id := opened(t, m, memory.Key{Agent: "crab", Sender: "user", Thread: thread})
			c, err := m.Get(t.Context(), id)
			if want := []int64{2, 1, 3}[i]; err != nil || c.Number != want {
				t.Errorf("thread %q is number %d, want %d (%v)", thread, c.Number, want, err)
			}
		}
	})
}

func TestTheFirstUserMessageNamesTheConversation(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		id := opened(t, m, main, said(model.User, "  "), said(model.User, "Plan the trip. Cheaply."), said(model.User, "Other"))
		c, err := m.Get(t.Context(), id)
		if err != nil || c.Title != "Plan the trip." {
			t.Errorf("%q, %v; want no error, c.Title to be \"Plan the trip.\"", c.Title, err)
		}
	})
}

func TestArchivingMovesTheWindowAndKeepsTheRaw(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		id := opened(t, m, main, said(model.User, "one"), said(model.Assistant, "two"))
		first := archived(t, m, id, "First talk. More.")
		if _, err := m.Archive(t.Context(), nil, id, memory.NewArchive{Summary: "x", ToSeq: 2}); !errors.Is(err, memory.ErrNothing) {
			t.Errorf("an empty window was archived: %v", err)
		}
		opened(t, m, main, said(model.User, "three"))
		second := archived(t, m, id, "Second talk")
		opened(t, m, main, said(model.User, "four"))
		w, err := m.Window(t.Context(), id)
		if err != nil || w.Archive == nil || w.Archive.Summary != "Second talk" {
			t.Fatalf("%+v, %v; want no error, w.Archive not to be nil, w.Archive.Summary to be \"Second talk\"", w.Archive, err)
		}
		if diff := cmp.Diff([]string{"4 user four"}, texts(w.Messages)); diff != "" {
			t.Error(diff)
		}
		list, err := m.Archives(t.Context(), id, "", 0)
		if err != nil || len(list) != 2 || list[0].ID != first.ID || list[1].ID != second.ID || list[0].Title != "First talk." || list[0].ArchivedAt == "" {
			t.Errorf("%+v, %v", list, err)
		}
		if earlier, err := m.Archives(t.Context(), id, second.ID, 5); err != nil || len(earlier) != 1 || earlier[0].ID != first.ID {
			t.Errorf("%+v, %v; want no error, len(earlier) to be 1, earlier[0].ID to be %v", earlier, err, first.ID)
		}
		raw, err := m.ArchiveMessages(t.Context(), first, 0, 10)
		if diff := cmp.Diff([]string{"1 user one", "2 assistant two"}, texts(raw)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestASummaryCanBeRedone(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		id := opened(t, m, main, said(model.User, "prices of boats"))
		a := archived(t, m, id, "About aardvarks.")
		b, err := m.Resummarise(t.Context(), nil, a.ID, "About boats.", "offline", model.Usage{})
		if err != nil || b.Title != "About boats." || b.FromSeq != a.FromSeq {
			t.Errorf("%+v, %v; want no error, b.Title to be \"About boats.\", b.FromSeq to be %v", b, err, a.FromSeq)
		}
		if got := search(t, m, memory.Query{Text: "aardvarks"}); len(got.Hits) != 0 {
			t.Errorf("the wrong summary is still found: %+v", got)
		}
		if _, err := m.Resummarise(t.Context(), nil, "no", "x", "", model.Usage{}); !errors.Is(err, memory.ErrNoArchive) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDeleteRemovesAllOfItAndNothingElse(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		id := opened(t, m, main, said(model.User, "secret walrus"))
		archived(t, m, id, "walrus summary")
		if err := m.Remember(t.Context(), main, "walrus", "walrus note"); err != nil {
			t.Fatal(err)
		}
		other := opened(t, m, memory.Key{Agent: "crab", Sender: "bob"}, said(model.User, "walrus too"))
		if err := m.Delete(t.Context(), nil, id); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Get(t.Context(), id); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		got := search(t, m, memory.Query{Text: "walrus"})
		if len(got.Hits) != 1 || got.Hits[0].Conversation != other {
			t.Errorf("%+v; want len(got.Hits) to be 1, got.Hits[0].Conversation to be %v", got.Hits, other)
		}
		if err := m.Delete(t.Context(), nil, id); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("deleting twice: %v", err)
		}
	})
}

func TestListShowsOnlyWhatMayBeSeen(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		for _, sender := range []string{"user", "bob", "tg:1", "tg:2", "tg%", "t_:x"} {
			opened(t, m, memory.Key{Agent: "crab", Sender: sender}, said(model.User, "hi"))
		}
		if _, err := m.Open(t.Context(), memory.Key{Agent: "crab", Sender: "delegate:r:1"}, true); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			f    memory.Filter
			want int
		}{
			{memory.Filter{}, 6},
			{memory.Filter{Sender: "bob"}, 1},
			{memory.Filter{Agent: "twin"}, 0},
			{memory.Filter{Allowed: named("bob")}, 1},
			{memory.Filter{Allowed: matching("tg:*")}, 2},
			{memory.Filter{Allowed: matching("t%*")}, 0},
			{memory.Filter{Allowed: matching("bob")}, 1},
			{memory.Filter{Allowed: named("*")}, 0}, // a name, and no pattern
			{memory.Filter{Allowed: named("tg:*")}, 0},
			{memory.Filter{Allowed: &identity.Senders{}}, 0},
			{memory.Filter{Allowed: named("bob"), Sender: "user"}, 0},
			{memory.Filter{Limit: 2}, 2},
		} {
			list, err := m.List(t.Context(), c.f)
			if err != nil || len(list) != c.want {
				t.Errorf("%+v: %d of %d, %v", c.f, len(list), c.want, err)
			}
		}
	})
}

func TestNotesReplaceForgetAndKeepLimits(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		for i := range memory.MaxNotes {
			if err := m.Remember(t.Context(), main, fmt.Sprint("n", i), "x"); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Remember(t.Context(), main, "one more", "x"); !errors.Is(err, memory.ErrTooMany) {
			t.Errorf("got %v", err)
		}
		if err := m.Remember(t.Context(), main, "n1", "walrus"); err != nil {
			t.Errorf("replacing: %v", err)
		}
		if err := m.Remember(t.Context(), main, "n2", strings.Repeat("x", memory.MaxNoteSize+1)); !errors.Is(err, memory.ErrTooLong) {
			t.Errorf("got %v", err)
		}
		notes, err := m.Notes(t.Context(), main)
		if err != nil || len(notes) != memory.MaxNotes || notes[0].Text != "walrus" {
			t.Errorf("%d notes, %v", len(notes), err)
		}
		if found, err := m.Forget(t.Context(), main, "n1"); err != nil || !found {
			t.Errorf("%v, %v; want no error, found", found, err)
		}
		if found, err := m.Forget(t.Context(), main, "n1"); err != nil || found {
			t.Errorf("forgetting twice: %v, %v", found, err)
		}
		if got := search(t, m, memory.Query{Text: "walrus"}); len(got.Hits) != 0 {
			t.Errorf("%+v; want len(got.Hits) to be 0", got.Hits)
		}
	})
}

func TestQueueKeepsOrderAndLimit(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		id := opened(t, m, main)
		for _, run := range []string{"a", "b"} {
			if err := m.Enqueue(t.Context(), nil, id, memory.Waiting{Run: run, Order: []byte(run)}, 3, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Enqueue(t.Context(), nil, id, memory.Waiting{Run: "first", Order: []byte("f")}, 3, true); err != nil {
			t.Fatal(err)
		}
		if err := m.Enqueue(t.Context(), nil, id, memory.Waiting{Run: "x", Order: []byte("x")}, 3, false); !errors.Is(err, memory.ErrQueueFull) {
			t.Errorf("got %v", err)
		}
		list, err := m.Queue(t.Context(), id)
		var runs []string
		for _, w := range list {
			runs = append(runs, w.Run)
		}
		if diff := cmp.Diff([]string{"first", "a", "b"}, runs); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if ids, err := m.Abandoned(t.Context(), 10); err != nil || len(ids) != 1 || ids[0] != id {
			t.Errorf("%v, %v; want no error, len(ids) to be 1, ids[0] to be %v", ids, err, id)
		}
		if err := m.Drop(t.Context(), nil, "first", "a", "b"); err != nil {
			t.Fatal(err)
		}
		if ids, err := m.Abandoned(t.Context(), 10); err != nil || len(ids) != 0 {
			t.Errorf("%v, %v; want no error, len(ids) to be 0", ids, err)
		}
	})
}

func named(senders ...string) *identity.Senders { return &identity.Senders{Names: senders} }

func matching(pattern string) *identity.Senders {
	return &identity.Senders{Patterns: identity.Expand("talk:sender:" + pattern).SenderPatterns()}
}
