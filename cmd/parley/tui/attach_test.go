package tui

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "parley.internal/protocol/agentfirst"
)

// The page is held to the same vectors.
func TestFilesInAMessageHaveTheFormThePageKnows(t *testing.T) {
	raw, err := os.ReadFile("../../../web/src/lib/testdata/attachments.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Why, Words, Message string
		Files               []Attachment
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if diff := cmp.Diff(v.Message, Compose(v.Words, v.Files)); diff != "" {
			t.Errorf("%s: %s; want no difference", v.Why, diff)
		}
		want := []string{v.Words}
		if v.Words == "" {
			want = nil
		}
		for _, f := range v.Files {
			want = append(want, "[file: "+f.Name+", "+fileSize(len(f.Text))+"]")
		}
		if diff := cmp.Diff(strings.Join(want, "\n\n"), Fold(v.Message)); diff != "" {
			t.Errorf("%s: %s; want no difference", v.Why, diff)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("words", "a`b.txt", "x\n```\n")
	f.Add("Attached file \"a\" (1 bytes):\n```\nx\n```", "\x1b\"", "")
	f.Fuzz(func(t *testing.T, words, name, text string) {
		message := Compose(words, []Attachment{{Name: name, Text: text}})
		if !strings.HasSuffix(Fold(message), "]") && strings.TrimSpace(words) == "" {
			t.Errorf("%q is not folded: %q", message, Fold(message))
		}
	})
}

func TestAFileIsReadOrRefusedWithAReason(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, err := Read(write("a.txt", "\ufeffhej"), nil, nil); err != nil || got != (Attachment{Name: "a.txt", Text: "hej"}) {
		t.Errorf("%v, %v", got, err)
	}
	full := []Attachment{{Name: "b", Text: strings.Repeat("x", 8<<20)}}
	for _, c := range []struct {
		path, why string
		others    []Attachment
	}{
		{write("a.png", "\x89PNG\xff"), "a.png was not attached: it is not a text file", nil},
		{write("a.bin", "a\x00b"), "not a text file", nil},
		{write("c.txt", "x"), "too large: there is room for 0 bytes", full},
		{write("d.txt", "x"), "20 files are the most", make([]Attachment, 20)},
		{dir, "it is a folder", nil},
		{filepath.Join(dir, "none"), "none was not attached", nil},
	} {
		if _, err := Read(c.path, c.others, nil); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", c.path, err, c.why)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v; want os.ErrNotExist", err)
	}
}

func TestAPictureIsPutIntoTheHubAndNotIntoTheWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "photo.png")
	picture := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 9<<20)...)
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	put := func(string) (*wire.FileRef, error) { return &wire.FileRef{Digest: "d"}, nil }
	got, err := Read(path, nil, put)
	if err != nil || got.Stored.GetDigest() != "d" {
		t.Fatalf("a large picture: %v, %v; want it put into the hub, not refused as a long text", got.Stored, err)
	}
	if text := Compose("look", []Attachment{got}); text != "look" {
		t.Errorf("the words are %q; want the picture named beside them only", text)
	}
	if refs := Stored([]Attachment{{Name: "a", Text: "a"}, got}); len(refs) != 1 {
		t.Errorf("%d files of the hub; want the picture alone", len(refs))
	}
}

func TestAPersonAttachesFilesByTheirBeginnings(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"notes.txt", "notes.md", "über.txt", ".hidden"} {
		if err := os.WriteFile(name, []byte("of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("deep", 0o700); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t)
	s.press("/attach n", "tab", "t", "tab", "enter", "/attach d", "tab")
	if got := s.m.input.Value(); got != "/attach deep/" {
		t.Errorf("completed to %q", got)
	}
	s.press("ctrl+c") // takes back what was typed and attached
	s.press("/attach notes.txt", "enter", "/attach none", "enter")
	s.shows("with notes.txt", "none was not attached")
	s.press("look", "enter", "and", "enter")
	want := []string{"say /: look\n\nAttached file \"notes.txt\" (12 bytes):\n```\nof notes.txt\n```", "say /: and"}
	if diff := cmp.Diff(want, s.hub.asked); diff != "" {
		t.Error(diff)
	}
	s.update(eventMsg{"", said(1, "user", "", "look\n\nAttached file \"notes.txt\" (12 bytes):\n```\nof notes.txt\n```"), nil})
	s.shows("[file: notes.txt, 12 bytes]")
}
