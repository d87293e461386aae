//go:build unix

package endpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "parley.internal/protocol/kenny"
)

// tree makes files below a folder; a name that ends in / is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func arg(key, value string) string { return "{" + quote(key) + ":" + quote(value) + "}" }

type readOut struct {
	Content   string `json:"content"`
	Truncated bool   `json:"truncated"`
}

func TestFilesAreListedFoundAndRead(t *testing.T) {
	b := newBench(t)
	root := tree(t, map[string]string{"notes.txt": "hello", "sub/Notes-2.TXT": "more", "sub/other.md": "x", "notes-folder/plain": "y", "empty/": ""})
	type entry struct {
		Name  string `json:"name"`
		IsDir bool   `json:"is_dir"`
		Bytes int64  `json:"bytes"`
	}
	raw, err := b.ask(t, "fs_list", arg("path", root))
	want := []entry{{"empty", true, 0}, {"notes-folder", true, 0}, {"notes.txt", false, 5}, {"sub", true, 0}}
	if d := cmp.Diff(want, as[struct {
		Entries []entry `json:"entries"`
	}](t, raw, err).Entries); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	raw, err = b.ask(t, "fs_search", `{"root":`+quote(root)+`,"pattern":"NOTES"}`)
	found := as[map[string][]string](t, raw, err)["matches"]
	if d := cmp.Diff([]string{filepath.Join(root, "notes.txt"), filepath.Join(root, "sub/Notes-2.TXT")}, found); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	raw, err = b.ask(t, "fs_read", arg("path", found[0]))
	if got := as[readOut](t, raw, err); got != (readOut{"hello", false}) {
		t.Errorf("%+v", got)
	}
	raw, err = b.ask(t, "fs_list", arg("path", filepath.Join(root, "empty")))
	if string(raw) != `{"entries":[]}` {
		t.Errorf("%s %v; want string(raw) to be \"{\"entries\":[]}\"", raw, err)
	}
}

func TestPathsOfTheWrongKind(t *testing.T) {
	b := newBench(t)
	root := tree(t, map[string]string{"file": "x", "dir/": ""})
	fifo := filepath.Join(root, "pipe")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, path string
		want       wire.Code
	}{
		{"fs_read", root + "/none", wire.CodeNotFound},
		{"fs_list", root + "/none", wire.CodeNotFound},
		{"fs_read", root + "/dir", wire.CodeBadArgs},
		{"fs_list", root + "/file", wire.CodeBadArgs},
		{"fs_read", fifo, wire.CodeBadArgs},
		{"fs_read", "/dev/zero", wire.CodeBadArgs},
		{"fs_read", "/dev/tty", wire.CodeBadArgs},
		{"fs_read", "relative/file", wire.CodeBadArgs},
		{"fs_list", "C:\\Users", wire.CodeBadArgs},
		{"fs_read", root + "/dir/../file", wire.CodeBlocked},
	} {
		_, err := b.ask(t, c.tool, arg("path", c.path))
		codeIs(t, c.tool+" "+c.path, err, c.want)
	}
	_, err := b.ask(t, "fs_search", `{"root":`+quote(root+"/file")+`,"pattern":"x"}`)
	codeIs(t, "fs_search in a file", err, wire.CodeBadArgs)
}

func TestAHugeFileIsCutWithoutLoadingIt(t *testing.T) {
	b := newBench(t)
	root := tree(t, map[string]string{"exact": strings.Repeat("a", 256<<10)})
	huge := filepath.Join(root, "huge")
	f, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("begin"); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil { // a terabyte that takes no space
		t.Fatal(err)
	}
	f.Close()
	raw, wireErr := b.ask(t, "fs_read", arg("path", huge))
	if got := as[readOut](t, raw, wireErr); !got.Truncated || len(got.Content) != 256<<10 || !strings.HasPrefix(got.Content, "begin") {
		t.Errorf("%v, %d bytes", got.Truncated, len(got.Content))
	}
	raw, wireErr = b.ask(t, "fs_read", arg("path", filepath.Join(root, "exact")))
	if got := as[readOut](t, raw, wireErr); got.Truncated || len(got.Content) != 256<<10 {
		t.Errorf("%v, %d bytes", got.Truncated, len(got.Content))
	}
}

func TestLongListsAreCut(t *testing.T) {
	b := newBench(t)
	files := map[string]string{}
	for i := range 5001 {
		files[fmt.Sprintf("f%04d", i)] = ""
	}
	root := tree(t, files)
	raw, err := b.ask(t, "fs_list", arg("path", root))
	got := as[struct {
		Entries   []any `json:"entries"`
		Truncated bool  `json:"truncated"`
	}](t, raw, err)
	if len(got.Entries) != 5000 || !got.Truncated {
		t.Errorf("%d %v; want len(got.Entries) to be 5000, got.Truncated", len(got.Entries), got.Truncated)
	}
	raw, err = b.ask(t, "fs_search", `{"root":`+quote(root)+`,"pattern":"f"}`)
	found := as[struct {
		Matches   []string `json:"matches"`
		Truncated bool     `json:"truncated"`
	}](t, raw, err)
	if len(found.Matches) != 1000 || !found.Truncated {
		t.Errorf("%d %v; want len(found.Matches) to be 1000, found.Truncated", len(found.Matches), found.Truncated)
	}
}

// secrets makes a home with things nobody may read from afar.
func secrets(t *testing.T) string {
	return tree(t, map[string]string{
		"ann/.ssh/id_ed25519": "PRIVATE", "ann/.ssh/config": "x", "ann/.aws/credentials": "KEY", "ann/.gnupg/private-keys-v1.d/a.key": "k",
		"ann/documents/letter.txt": "dear", "ann/documents/id_rsa.pub": "ssh-rsa AAAA", "ann/documents/id_rsa": "PRIVATE",
	})
}

func TestProtectedFilesAreReachedByNoWay(t *testing.T) {
	b := newBench(t)
	home := secrets(t)
	link := func(from, to string) string {
		path := filepath.Join(home, from)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	toFile := link("shortcut.txt", filepath.Join(home, "ann/.ssh/id_ed25519"))
	toDir := link("shortcut", filepath.Join(home, "ann/.ssh"))
	twice := link("again", toDir)
	for _, c := range []struct{ tool, path string }{
		{"fs_read", home + "/ann/.ssh/id_ed25519"},
		{"fs_read", home + "//ann/./.ssh//config"},
		{"fs_read", home + "/ann/documents/id_rsa"},
		{"fs_read", home + "/ann/.aws/credentials"},
		{"fs_list", home + "/ann/.ssh"},
		{"fs_list", home + "/ann/.ssh/"},
		{"fs_list", home + "/ann/.gnupg"},
		{"fs_search", home + "/ann/.ssh"},
		{"fs_read", toFile},
		{"fs_read", toDir + "/config"},
		{"fs_list", toDir},
		{"fs_list", twice},
		{"fs_search", toDir},
		{"fs_read", toDir + "/not-there-yet"}, // the existing part is what counts
		{"fs_read", "/etc/shadow"},
		{"fs_read", "/proc/self/root/etc/shadow"},
		{"fs_read", "/proc/self/root" + home + "/ann/.ssh/config"},
		{"fs_read", "/proc/self/root/proc/self/root/etc/shadow"},
		{"fs_read", "/var/lib/parley-endpoint/key"},
	} {
		args := arg("path", c.path)
		if c.tool == "fs_search" {
			args = `{"root":` + quote(c.path) + `,"pattern":"i"}`
		}
		_, err := b.ask(t, c.tool, args)
		codeIs(t, c.tool+" "+c.path, err, wire.CodeBlocked)
	}
	for _, path := range []string{"/ann/documents/letter.txt", "/ann/documents/id_rsa.pub"} {
		_, err := b.ask(t, "fs_read", arg("path", home+path))
		codeIs(t, path, err, "")
	}
}

func TestSearchNeitherShowsNorEntersWhatReadingRefuses(t *testing.T) {
	b := newBench(t)
	home := secrets(t)
	if err := os.Symlink(filepath.Join(home, "ann/.ssh"), filepath.Join(home, "ann/documents/way")); err != nil {
		t.Fatal(err)
	}
	raw, err := b.ask(t, "fs_search", `{"root":`+quote(home)+`,"pattern":"i"}`)
	want := []string{filepath.Join(home, "ann/documents/id_rsa.pub")}
	if d := cmp.Diff(want, as[map[string][]string](t, raw, err)["matches"]); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

// TestASwapAfterTheCheckReachesNothing has a link change between a letter and
// a private key as fast as it can. Whatever is answered, it is never the key.
func TestASwapAfterTheCheckReachesNothing(t *testing.T) {
	b := newBench(t)
	home := secrets(t)
	path := filepath.Join(home, "moving")
	targets := []string{filepath.Join(home, "ann/documents/letter.txt"), filepath.Join(home, "ann/.ssh/id_ed25519")}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tmp := path + strconv.Itoa(i%2)
			_ = os.Symlink(targets[i%2], tmp)
			_ = os.Rename(tmp, path)
		}
	})
	seen := map[string]int{}
	for range 2000 {
		raw, err := b.ask(t, "fs_read", arg("path", path))
		if err != nil {
			seen[string(err.Code)]++
			continue
		}
		if got := as[readOut](t, raw, nil); got.Content != "dear" {
			t.Errorf("read %q", got.Content)
		}
		seen["read"]++
	}
	close(stop)
	swapping.Wait()
	t.Log(seen)
}

func TestTheStateFolderIsProtectedWhereverItIs(t *testing.T) {
	_, e, hub := connected(t)
	dir := e.opts.State
	for tool, args := range map[string]string{
		"fs_read":    arg("path", dir+"/key"),
		"fs_list":    arg("path", dir),
		"shell_exec": script("cat "+dir+"/key", 5),
	} {
		_, err := hub.ask(tool, args)
		codeIs(t, tool, err, wire.CodeBlocked)
	}
	_, err := hub.ask("shell_exec", script("rm "+dir+"/switch.json; ls "+dir+"-2", 5))
	codeIs(t, "switch", err, wire.CodeBlocked)
	_, err = hub.ask("fs_list", arg("path", filepath.Dir(dir)))
	codeIs(t, "the folder above", err, "")
}
