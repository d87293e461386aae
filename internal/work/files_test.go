package work_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/files"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

var picture = append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{7}, 100)...)

func TestAPictureThatIsHandedOverIsShownToTheModel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s := files.New(files.Deps{DB: db})
		h := newHub(t, db, withDeps(func(d *work.Deps) { d.Files = s }))
		f, err := s.Put(t.Context(), alice, "photo.png", bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		submit := goal("What is in the picture?")
		submit.Artifacts = []viber.Artifact{{ID: "1", Ref: viber.FileRef(f.Digest)}}
		r := h.submit(submit)
		r.end()
		if text := r.text(); !strings.Contains(text, `got "photo.png" (image/png, 108 bytes)`) {
			t.Errorf("the model says %q; want that it got the picture", text)
		}
		if shown := h.trail.of(audit.FileShown); len(shown) != 1 || shown[0].Detail["digest"] != f.Digest {
			t.Errorf("the trail says %+v; want that the picture was shown once", shown)
		}
		if err := s.Drop(t.Context(), alice, f.Digest); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get(t.Context(), alice, f.Digest); err != nil {
			t.Errorf("the task that refers to it has lost it: %v", err)
		}
		if err := h.Purge(t.Context(), time.Now().Add(1000*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get(t.Context(), alice, f.Digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("the task is forgotten and its picture is still kept: %v", err)
		}
	})
}

// Bob knows the digest of a picture of Alice's and hands it to an agent of his own.
func TestAFileOfSomebodyElseCannotBeHandedOver(t *testing.T) {
	db := storetest.SQLite(t)
	s := files.New(files.Deps{DB: db})
	h := newHub(t, db, withDeps(func(d *work.Deps) { d.Files = s }))
	f, err := s.Put(t.Context(), alice, "photo.png", bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	submit := goal("What is in the picture?")
	submit.Artifacts = []viber.Artifact{{ID: "1", Ref: viber.FileRef(f.Digest)}}
	_, err = h.Submit(t.Context(), bob, work.SubmitRequest{Key: newKey(), Submit: submit})
	var v *viber.Violation
	if !errors.As(err, &v) || v.Reason != viber.ReasonBadArtifact {
		t.Errorf("bob's submit: %v; want bad_artifact", err)
	}
}

func TestAFileThatTheModelCannotTakeIsToldOfInTheTask(t *testing.T) {
	db := sqlite(t)
	s := files.New(files.Deps{DB: db})
	h := newHub(t, db, withDeps(func(d *work.Deps) { d.Files = s }))
	f, err := s.Put(t.Context(), alice, "note.ogg", bytes.NewReader(append([]byte("OggS"), bytes.Repeat([]byte{7}, 50)...)))
	if err != nil {
		t.Fatal(err)
	}
	h.models.kind = brain.KindAnthropic
	submit := goal("What is said there?")
	submit.Artifacts = []viber.Artifact{{ID: "1", Ref: viber.FileRef(f.Digest)}}
	r := h.submit(submit)
	r.end()
	told := 0
	for _, p := range ofType[*viber.TaskProgress](r) {
		if strings.Contains(p.Message, "note.ogg was not shown to parley: offline:offline does not take audio/ogg") {
			told++
		}
	}
	if shown := h.trail.of(audit.FileShown); told != 1 || len(shown) != 0 {
		t.Errorf("the person is told %d times that the model did not get the note, and the trail says it was shown %d times; want once and never: %s", told, len(shown), r.describe())
	}
}
