package archtest_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"parley.internal/test/archtest"
)

// root is the repository, seen from this package's folder.
const root = "../.."

func TestConformancePagesNameATestForEveryItem(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/conformance/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := archtest.NewTests(os.DirFS(root))
	for _, file := range pages {
		if filepath.Base(file) == "README.md" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			page, err := archtest.ParsePage(string(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range page.Problems(tests.Look) {
				t.Error(problem)
			}
		})
	}
}

// The threat model and the list of attacks are tables like theirs, in a page that has others.
func TestTheThreatModelNamesATestForEveryPromise(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"threats", "attacks"} {
		_, rest, _ := strings.Cut(string(text), "<!-- "+mark)
		_, rest, _ = strings.Cut(rest, "-->\n")
		section, _, ok := strings.Cut(rest, "<!-- /"+mark+" -->")
		if !ok {
			t.Fatalf("docs/security.md has no section between the marks %s and /%s", mark, mark)
		}
		page, err := archtest.ParsePage(section)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range page.Problems(archtest.NewTests(os.DirFS(root)).Look) {
			t.Error(problem)
		}
	}
}

const samplePage = `# A part

Items: 1-4, A

Prose, and | not a row.

| item | what | tests |
| --- | :-: | --- |
| 1 | says a \| b | ` + "`internal/talk.TestOne`, `internal/talk.TestTwo`" + ` |
| 2-3 | two at once | ` + "`test/browser/page.mjs: the page greets`" + ` |
| A | | nothing yet |
| 9 | unknown | ` + "`internal/talk.TestGone`" + ` |
`

func TestParsePage(t *testing.T) {
	got, err := archtest.ParsePage(samplePage)
	if err != nil {
		t.Fatal(err)
	}
	want := archtest.Page{
		Items: []string{"1", "2", "3", "4", "A"},
		Rows: []archtest.Row{
			{Line: 9, Items: []string{"1"}, Tests: []string{"internal/talk.TestOne", "internal/talk.TestTwo"}},
			{Line: 10, Items: []string{"2", "3"}, Tests: []string{"test/browser/page.mjs: the page greets"}},
			{Line: 11, Items: []string{"A"}},
			{Line: 12, Items: []string{"9"}, Tests: []string{"internal/talk.TestGone"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestParsePageRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a page without items":   "# Title\n",
		"a backward range":       "Items: 5-2\n",
		"a range of two letters": "Items: A1-B3\n",
		"a sentence as an item":  "Items: all of them\n",
		"a row with four cells":  "Items: 1\n| 1 | a | b | c |\n",
	} {
		t.Run(name, func(t *testing.T) {
			if page, err := archtest.ParsePage(text); err == nil {
				t.Errorf("accepted: %+v", page)
			}
		})
	}
}

func TestProblemsNameWhatIsMissing(t *testing.T) {
	page, err := archtest.ParsePage(samplePage)
	if err != nil {
		t.Fatal(err)
	}
	got := page.Problems(func(reference string) error {
		if reference == "internal/talk.TestGone" {
			return errors.New("TestGone is gone")
		}
		return nil
	})
	want := []string{
		"line 12: item 9 is not in the Items line",
		"line 12: TestGone is gone",
		"item 4 has no test",
		"item A has no test",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestLookFindsTestsByReference(t *testing.T) {
	tests := archtest.NewTests(fstest.MapFS{
		"internal/talk/talk_test.go":     {Data: []byte("package talk\n\nfunc TestHello(t *testing.T) {}\n\nfunc FuzzFrame(f *testing.F) {}\n")},
		"internal/talk/talk.go":          {Data: []byte("package talk\n\nfunc TestNotHere() {}\n")},
		"test/browser/page.mjs":          {Data: []byte("test('the page greets', async () => {});\n")},
		"cmd/parley/testdata/chat.txtar": {Data: []byte("exec parley chat\n")},
	})
	for reference, there := range map[string]bool{
		"internal/talk.TestHello":                true,
		"internal/talk.TestHello/by_a_guest":     true,
		"internal/talk.FuzzFrame":                true,
		"internal/talk.TestHell":                 false,
		"internal/talk.TestNotHere":              false,
		"internal/gone.TestHello":                false,
		"test/browser/page.mjs: the page greets": true,
		"test/browser/page.mjs: the page":        false,
		"test/browser/gone.mjs: the page greets": false,
		"cmd/parley/testdata/chat.txtar":         true,
		"cmd/parley/testdata/gone.txtar":         false,
		"seen by eye":                            false,
	} {
		if err := tests.Look(reference); (err == nil) != there {
			t.Errorf("Look(%q) = %v, want it there: %v", reference, err, there)
		}
	}
}

// A row that promises the race detector names tests that `make test` runs under it.
func TestRowsAboutTheRaceDetectorNameWhatItWatches(t *testing.T) {
	script := string(read(t, filepath.Join(root, "scripts/test.sh")))
	var watched []string
	for line := range strings.Lines(script) {
		if strings.Contains(line, "go test -race") {
			watched = append(watched, strings.Fields(line)...)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/conformance/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, file := range pages {
		for line := range strings.Lines(string(read(t, file))) {
			if !strings.HasPrefix(line, "|") || !strings.Contains(line, "race detector") {
				continue
			}
			rows++
			for _, m := range regexp.MustCompile("`([a-z/]+)\\.Test").FindAllStringSubmatch(line, -1) {
				if dir := "./" + m[1]; !slices.Contains(watched, dir) && !slices.Contains(watched, dir+"/...") {
					t.Errorf("%s: %s is not among the packages that scripts/test.sh runs under the race detector", filepath.Base(file), m[1])
				}
			}
		}
	}
	if rows == 0 || len(watched) == 0 {
		t.Errorf("%d rows speak of the race detector, and %d words of the script; want some of each", rows, len(watched))
	}
}
