package truepath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheTruePathIsThatOfTheOpenedFile(t *testing.T) {
	dir := folder(t)
	file := write(t, filepath.Join(dir, "file"), "one")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, dir + "/./file", "/proc/self/root" + file} {
		f, err := Open(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !slices.Equal(f.Final, []string{file}) {
			t.Errorf("%s is %v", path, f.Final)
		}
		f.Close()
	}
}

func TestReadingGivesTheFileThatWasOpenedWhateverIsThereNow(t *testing.T) {
	dir := folder(t)
	path := write(t, filepath.Join(dir, "file"), "judged")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(write(t, filepath.Join(dir, "other"), "swapped"), path); err != nil {
		t.Fatal(err)
	}
	r, err := f.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || string(data) != "judged" {
		t.Errorf("%q %v; want no error, string(data) to be \"judged\"", data, err)
	}
}

func TestARemovedFileKeepsItsNameForTheGuard(t *testing.T) {
	path := write(t, filepath.Join(folder(t), "file"), "x")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	got, err := Open("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if !slices.Contains(got.Final, path) {
		t.Errorf("%v; want slices.Contains(got.Final, path)", got.Final)
	}
}

func TestKindsAreToldApart(t *testing.T) {
	dir := folder(t)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	zero, err := Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	if _, err := zero.Reader(); !errors.Is(err, ErrKind) {
		t.Errorf("a device: %v", err)
	}
	here, err := OpenHere(link)
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	if here.Info.IsDir() {
		t.Error("a link was followed")
	}
	if _, err := Open("relative"); !errors.Is(err, ErrRelative) {
		t.Error(err)
	}
	if _, err := Open(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestTheExistingPartOfAPathIsResolved(t *testing.T) {
	dir := folder(t)
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir + "/way/a/b": dir + "/real/a/b", dir + "/way": dir + "/real", dir + "/none/x": dir + "/none/x", "/": "/",
	} {
		if got := Resolve(path); got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
}
