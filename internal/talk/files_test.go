package talk_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/files"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/protocol/agentfirst"
	"parley.internal/test/trailtest"
)

var (
	picture = append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{7}, 100)...)
	voice   = append([]byte("OggS"), bytes.Repeat([]byte{7}, 50)...)
)

// withFiles gives the hub a store of files, which the test keeps.
func withFiles(s **files.Store) option {
	return func(h *hub, d *talk.Deps) {
		*s = files.New(files.Deps{DB: h.db, Trail: trailtest.Watch(h.trail)})
		d.Files = *s
	}
}

func keep(t testing.TB, s *files.Store, name string, data []byte) string {
	t.Helper()
	f, err := s.Put(t.Context(), anybody, name, bytes.NewReader(data))
	if err != nil {
		t.Fatalf("putting %s: %v", name, err)
	}
	return f.Digest
}

func TestAPictureIsShownToTheModelAndTheTrailSaysSo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var s *files.Store
		h := newHub(t, db, withFiles(&s))
		digest := keep(t, s, "photo.png", picture)
		out := h.turn(talk.TurnRequest{Content: "What is this?", Files: []string{digest}})
		if text := out.text(); !strings.Contains(text, `got "photo.png" (image/png, 108 bytes)`) {
			t.Errorf("the model says %q; want that it got the picture", text)
		}
		last := h.models.last(t).Messages
		said := last[len(last)-1]
		if len(said.Files) != 1 || !bytes.Equal(said.Files[0].Data, picture) {
			t.Errorf("the model was sent %d files; want the picture's own bytes", len(said.Files))
		}
		h.say("/say and now")
		again := h.models.last(t).Messages
		if !brain.HasFiles(again) || again[slices.IndexFunc(again, func(m model.Message) bool { return len(m.Files) > 0 })].Files[0].Data == nil {
			t.Error("the next turn does not show the picture of the one before")
		}
		shown := 0
		h.trail.mu.Lock()
		for _, e := range h.trail.entries {
			if e.Action == audit.FileShown && e.Target == digest && e.Detail["model"] == "offline:offline" {
				shown++
			}
		}
		h.trail.mu.Unlock()
		if shown != 2 {
			t.Errorf("the trail says %d times that the picture was shown to the model; want once for each of the two turns", shown)
		}
		info, err := h.Find(t.Context(), anybody, crab)
		if err != nil {
			t.Fatal(err)
		}
		history, err := h.History(t.Context(), anybody, info.ID, talk.HistoryRequest{})
		if err != nil || len(history.Messages[0].Files) != 1 || history.Messages[0].Files[0].Name != "photo.png" {
			t.Errorf("the history does not name the picture: %+v, %v", history.Messages, err)
		}
		if err := h.Delete(t.Context(), anybody, info.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Drop(t.Context(), anybody, digest); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get(t.Context(), anybody, digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("the conversation is deleted and the picture is still kept: %v", err)
		}
	})
}

func TestWhatAModelCannotTakeIsSaidToThePersonAndToTheModel(t *testing.T) {
	var s *files.Store
	h := newHub(t, sqlite(t), withFiles(&s))
	h.models.kind = brain.KindAnthropic
	out := h.turn(talk.TurnRequest{Content: "/context", Files: []string{keep(t, s, "note.ogg", voice), keep(t, s, "photo.png", picture)}})
	var told []string
	for _, ev := range out.of(talk.Notice) {
		if ev.Code == agentfirst.NoticeFileNotShown {
			told = append(told, ev.Text)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "note.ogg was not shown to crab: offline:offline does not take audio/ogg") {
		t.Errorf("the person is told %q; want once, in words, that the voice note was not shown", told)
	}
	last := h.models.last(t).Messages
	said := last[len(last)-1]
	if words := said.Words(); !strings.Contains(words, `not shown to you: "note.ogg", audio/ogg, 54 bytes`) || strings.Contains(words, "photo.png") {
		t.Errorf("the model is told %q; want that there is a voice note which it does not get", words)
	}
}

// Eve knows the digest of a picture that Alice said to the same agent. She says it herself, to have
// the agent describe it to her.
func TestWhoOnlyKnowsADigestCannotHaveItShown(t *testing.T) {
	var s *files.Store
	h := newHub(t, sqlite(t), withFiles(&s))
	digest := keep(t, s, "photo.png", picture)
	h.turn(talk.TurnRequest{Content: "/say mine", Files: []string{digest}})
	eve := own("eve")
	_, err := h.Turn(t.Context(), eve, talk.TurnRequest{Key: talk.Key{Agent: "crab", Sender: "eve"}, Content: "What is this?", Files: []string{digest}})
	if !errors.Is(err, files.ErrNotFound) {
		t.Errorf("eve's turn: %v; want that there is no such file", err)
	}
}

// What is in a file may be a stranger's words: what an agent's file approves beforehand asks again.
func TestAFileTaintsTheTurnThatShowsIt(t *testing.T) {
	var s *files.Store
	ran := 0
	h := newHub(t, sqlite(t), withFiles(&s), withInbox, withTools(danger(&ran)))
	h.agents.put(t, "crab", "---\ntools: [danger]\nauto_approve: [danger]\n---\n")
	if asked := h.say("/tool danger\n/say done").of(talk.Waiting); len(asked) != 0 {
		t.Fatalf("without a file it asked: %+v", asked)
	}
	run := h.begin(talk.TurnRequest{Content: "/tool danger\n/say done", Files: []string{keep(t, s, "photo.png", picture)}})
	until(t, run, talk.Waiting)
}
