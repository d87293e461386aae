package elsewhere_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/elsewhere"
)

func archive(t testing.TB, files ...[2]string) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = io.WriteString(w, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func TestAnArchiveIsReadWithoutFollowingItsNames(t *testing.T) {
	a := archive(t, [2]string{"chat.html", "<html>"}, [2]string{"../../etc/conversations.json", "[1]"}, [2]string{"a/b.jsonl", "{}"}, [2]string{"inner.zip", "PK"})
	if !elsewhere.IsArchive(a) {
		t.Fatal("an archive is not known as one")
	}
	var names []string
	for e, err := range elsewhere.Archive(a, a.Size()) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); err != nil {
			t.Errorf("%s: %v; want no error", e.Name, err)
		}
		names = append(names, e.Name)
	}
	if want := []string{"../../etc/conversations.json", "a/b.jsonl"}; !slices.Equal(names, want) {
		t.Errorf("read %q; want what may hold conversations, %q", names, want)
	}
}

// Ten megabytes of nothing become ten kilobytes; unpacked a thousand times they fill a disk.
func TestABombIsRefused(t *testing.T) {
	a := archive(t, [2]string{"conversations.json", strings.Repeat(" ", 64<<20)})
	for e, err := range elsewhere.Archive(a, a.Size()) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r)
		if !errors.Is(err, elsewhere.ErrArchive) {
			t.Errorf("a file of %d bytes unpacked to %d: %v; want it refused", a.Size(), n, err)
		}
	}
}

func FuzzArchive(f *testing.F) {
	a := archive(f, [2]string{"conversations.json", "[]"})
	all, _ := io.ReadAll(a)
	f.Add(all)
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		for e, err := range elsewhere.Archive(bytes.NewReader(data), int64(len(data))) {
			if err != nil {
				return
			}
			if r, err := e.Open(); err == nil {
				_, _ = io.Copy(io.Discard, r)
			}
		}
	})
}
