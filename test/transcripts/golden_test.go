package transcripts_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// told holds what was said against the transcript in testdata.
func (p *tap) told(t *testing.T, name, about string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	words := &words{known: map[string]string{}, next: map[string]int{}}
	archive := &txtar.Archive{Comment: []byte(about + "\n\n")}
	for i, e := range p.said {
		archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("%02d %s", i+1, e.from), Data: []byte(words.plain(pretty(e.text)) + "\n")})
	}
	file, got := filepath.Join("testdata", name+".txtar"), txtar.Format(archive)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the wire changed (-was +is); if that was meant, `go test ./test/transcripts -update`:\n%s", diff)
	}
}

// pretty sets JSON out in lines, after a first line of HTTP if there is one.
func pretty(text string) string {
	head, body, http := strings.Cut(text, "\n")
	if !http {
		head, body = "", text
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(body), "", "  ") != nil {
		return text
	}
	return strings.TrimSpace(head + "\n" + out.String())
}

// words puts a name in place of everything that differs from run to run.
type words struct {
	known map[string]string
	next  map[string]int
}

var changing = []struct {
	name string
	form *regexp.Regexp
}{
	{"public key", regexp.MustCompile(`-----BEGIN PUBLIC KEY-----[^"]*-----END PUBLIC KEY-----(?:\\n)?`)},
	{"fingerprint", regexp.MustCompile(`(?:[0-9a-f]{2}:){15}[0-9a-f]{2}`)},
	{"secret", regexp.MustCompile(`pr[lck]_[A-Za-z0-9_-]{20,}`)},
	{"uuid", regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)},
	{"time", regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)},
	{"address", regexp.MustCompile(`127\.0\.0\.1:\d+`)},
	{"day", regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)},
	{"participant", regexp.MustCompile(`\b[cp][A-Za-z0-9_-]{12}\b`)},
	{"posting", regexp.MustCompile(`post_[0-9a-f]{16}`)},
	{"hex", regexp.MustCompile(`\b[0-9a-f]{16,}\b`)},
	{"base64", regexp.MustCompile(`[A-Za-z0-9_+/-]{22,}={0,2}`)},
	{"moment", regexp.MustCompile(`\b1[789]\d{8}(?:\.\d+|\d{3}|\d{6})?\b`)},
}

func (w *words) plain(text string) string {
	for _, kind := range changing {
		text = kind.form.ReplaceAllStringFunc(text, func(found string) string {
			if (kind.name == "base64" || kind.name == "participant") && found == strings.ToLower(found) && !strings.ContainsAny(found, "0123456789") {
				return found // a long word
			}
			if strings.HasPrefix(found, "/place/v1/") {
				return found // a long path
			}
			if kind.name == "time" || kind.name == "moment" {
				return "<" + kind.name + ">" // two may or may not be the same
			}
			if w.known[found] == "" {
				w.next[kind.name]++
				w.known[found] = fmt.Sprintf("<%s %d>", kind.name, w.next[kind.name])
			}
			return w.known[found]
		})
	}
	return text
}
