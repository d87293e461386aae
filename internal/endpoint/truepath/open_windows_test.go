package truepath

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// folder is a folder with one file; it is removed piece by piece, which every
// Windows can.
func folder(t *testing.T) (dir, file string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "truepath-*")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "A Long Name.document")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file); _ = os.Remove(dir) })
	return dir, file
}

func TestEverySpellingLeadsToOneTruePath(t *testing.T) {
	_, file := folder(t)
	spellings := []string{file, strings.ToUpper(file), `\\?\` + file, strings.ReplaceAll(file, `\`, `/`), file + "."}
	if short := shortName(t, file); short != "" {
		spellings = append(spellings, short)
	}
	first := ""
	for _, path := range spellings {
		f, err := Open(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		name := strings.ToLower(Plain(f.Final[0]))
		if first == "" {
			first = name
		}
		if name != first || !strings.HasSuffix(name, `\a long name.document`) {
			t.Errorf("%s: %q, want %s", path, f.Final, first)
		}
		_ = f.Close()
	}
}

func shortName(t *testing.T, path string) string {
	t.Helper()
	long, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetShortPathName(long, &buf[0], uint32(len(buf)))
	if err != nil {
		return "" // a volume may have no short names
	}
	return windows.UTF16ToString(buf[:n])
}

func TestAFileIsReadThroughItsHandle(t *testing.T) {
	dir, file := folder(t)
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := f.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); string(got) != "text" || err != nil {
		t.Errorf("%q %v; want no error, string(got) to be \"text\"", got, err)
	}
	if _, err := f.Folder(); !errors.Is(err, ErrKind) {
		t.Errorf("a file as a folder: %v", err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	list, err := d.Folder()
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	if names, err := list.Readdirnames(-1); len(names) != 1 || err != nil {
		t.Errorf("%q %v; want no error, len(names) to be 1", names, err)
	}
}

func TestDevicesAndRelativePathsAreRefused(t *testing.T) {
	for _, path := range []string{`NUL`, `\\.\NUL`, `\\.\pipe\nothing`, `x\y`, `C:x`} {
		if f, err := Open(path); err == nil {
			_ = f.Close()
			t.Errorf("%s was opened", path)
		}
	}
}
