package files_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"parley.internal/internal/audit"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// png is a picture of so many bytes.
func png(n int, last byte) []byte {
	b := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0}, n)...)
	b[len(b)-1] = last
	return b
}

func person(id string, scopes ...string) identity.Actor {
	if scopes == nil {
		scopes = []string{identity.Talk}
	}
	return identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: id, Name: id}, Via: identity.Via{TokenID: "t"}, Scopes: identity.Expand(scopes...)}
}

func open(t *testing.T, db *store.DB, l files.Limits) *files.Store {
	t.Helper()
	return files.New(files.Deps{DB: db, Trail: audit.Nowhere{}, Limits: l})
}

func put(t *testing.T, s *files.Store, who identity.Actor, data []byte) files.File {
	t.Helper()
	f, err := s.Put(t.Context(), who, "../photo\u202e.png", bytes.NewReader(data))
	if err != nil {
		t.Fatalf("putting a file: %v", err)
	}
	return f
}

// parts counts what is really in the database.
func parts(t *testing.T, db *store.DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *store.Tx) error { return tx.QueryRow(`SELECT count(*) FROM file_parts`).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestADigestIsNotARight(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s := open(t, db, files.Limits{})
		alice, eve := person("alice"), person("eve")
		picture := png(3<<20, 1)
		f := put(t, s, alice, picture)
		if f.Name != "photo_.png" || f.Type != "image/png" {
			t.Errorf("kept as %q, %s; want a plain name and the type of its bytes", f.Name, f.Type)
		}
		if _, data, err := s.Get(t.Context(), alice, f.Digest); err != nil || !bytes.Equal(data, picture) {
			t.Errorf("alice gets %d bytes back, %v; want her picture", len(data), err)
		}
		if _, _, err := s.Get(t.Context(), eve, f.Digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("eve, who knows the digest, gets %v; want that there is no such file", err)
		}
		if _, err := s.HoldFor(t.Context(), eve, files.Conversation("hers"), f.Digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("eve says alice's file in her own conversation: %v; want that there is no such file", err)
		}
		if _, err := s.Bytes(t.Context(), files.Conversation("hers"), f.Digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("eve's conversation shows alice's file: %v", err)
		}
		gateway := person("alice", "talk:sender:tg:*")
		if _, _, err := s.Get(t.Context(), gateway, f.Digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("a token of alice's that speaks only for tg:* gets %v; want that there is no such file", err)
		}
		for _, digest := range []string{"", "x", "\x00", strings.Repeat("A", 64), strings.Repeat("a", 65)} {
			if _, _, err := s.Get(t.Context(), alice, digest); !errors.Is(err, files.ErrNotFound) {
				t.Errorf("the digest %q: %v; want that there is no such file", digest, err)
			}
		}
	})
}

func TestAFileIsKeptOnceAndGoesWithItsLastHolder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s := open(t, db, files.Limits{})
		alice, bob := person("alice"), person("bob")
		f := put(t, s, alice, png(10, 1))
		put(t, s, bob, png(10, 1))
		if n := parts(t, db); n != 1 {
			t.Fatalf("%d parts; want the same bytes kept once", n)
		}
		if _, err := s.HoldFor(t.Context(), alice, files.Conversation("c"), f.Digest); err != nil {
			t.Fatal(err)
		}
		if err := s.Drop(t.Context(), alice, f.Digest); err != nil {
			t.Fatalf("alice lets go of what she put: %v", err)
		}
		if err := s.Drop(t.Context(), bob, f.Digest); err != nil {
			t.Fatalf("bob lets go of what he put: %v", err)
		}
		if _, err := s.Bytes(t.Context(), files.Conversation("c"), f.Digest); err != nil {
			t.Fatalf("the conversation that refers to it has lost it: %v", err)
		}
		release := func(tx *store.Tx) error { return files.ReleaseTx(tx, files.Conversation("c")) }
		if err := db.Write(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		if n := parts(t, db); n != 0 {
			t.Errorf("%d parts are left; want none once nobody refers to the file", n)
		}
		if _, _, err := s.Get(t.Context(), alice, f.Digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("the file is still there: %v", err)
		}
	})
}

func TestAPersonKeepsOnlySoMuchAndEachFileCountsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s := open(t, db, files.Limits{Size: 200, Quota: 250})
		alice := person("alice")
		f := put(t, s, alice, png(100, 1))
		put(t, s, alice, png(100, 1))
		if _, err := s.HoldFor(t.Context(), alice, files.Task("t"), f.Digest); err != nil {
			t.Fatal(err)
		}
		put(t, s, alice, png(100, 2))
		if _, err := s.Put(t.Context(), alice, "x", bytes.NewReader(png(100, 3))); !errors.Is(err, files.ErrQuota) {
			t.Errorf("a third file of 108 bytes, with room for 250: %v; want the quota", err)
		}
		if _, err := s.Put(t.Context(), alice, "x", bytes.NewReader(png(300, 3))); !errors.Is(err, files.ErrTooLarge) {
			t.Errorf("a file of 308 bytes: %v; want that it is too large", err)
		}
		put(t, s, person("bob"), png(100, 3))
		list, used, err := s.List(t.Context(), alice)
		if err != nil || len(list) != 2 || used != 216 {
			t.Errorf("alice has %d files of %d bytes (%v); want 2 of 216", len(list), used, err)
		}
	})
}

func TestWhatABrowserWouldRunIsRefused(t *testing.T) {
	s := open(t, storetest.SQLite(t), files.Limits{})
	for _, body := range []string{
		"", "hello", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "<!doctype html><script>1</script>", "MZ\x90", "\x7fELF", "PK\x03\x04",
		"RIFF\x00\x00\x00\x00AVI ", "\x00\x00\x00\x18ftypmp42",
	} {
		if _, err := s.Put(t.Context(), person("alice"), "harmless.png", strings.NewReader(body)); !errors.Is(err, files.ErrType) {
			t.Errorf("%q named harmless.png: %v; want that its bytes are no picture", body, err)
		}
	}
}

func TestTypesAreKnownByTheirBytes(t *testing.T) {
	for want, body := range map[string]string{
		"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff\xe0", "image/gif": "GIF89a", "image/webp": "RIFF1234WEBPVP8 ", "application/pdf": "%PDF-1.7",
		"audio/wav": "RIFF1234WAVEfmt ", "audio/mpeg": "\xff\xfb\x90\x64", "audio/ogg": "OggS\x00", "audio/flac": "fLaC", "audio/mp4": "\x00\x00\x00\x18ftypM4A ",
	} {
		if got := files.Sniff([]byte(body)); got != want {
			t.Errorf("%q is taken for %q; want %s", body, got, want)
		}
	}
	if got := files.Sniff([]byte("ID3\x04")); got != "audio/mpeg" {
		t.Errorf("a tagged MP3 is taken for %q", got)
	}
}

func FuzzSniff(f *testing.F) {
	f.Add([]byte("RIFF"))
	f.Add([]byte("\x00\x00\x00\x18ftyp"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if kind := files.Sniff(data); strings.Contains(kind, "html") || strings.Contains(kind, "svg") {
			t.Errorf("%q is taken for %s", data, kind)
		}
	})
}
