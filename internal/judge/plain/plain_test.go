package plain_test

import (
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/judge/plain"
)

func TestPlainCommandsAreTakenApartAsAShellDoes(t *testing.T) {
	for command, want := range map[string][]string{
		"ls":                              {"ls"},
		"  git \t status  ":               {"git", "status"},
		`git commit -m "two words" 'a;b'`: {"git", "commit", "-m", "two words", "a;b"},
		`a"b"'c'`:                         {"abc"},
		`echo ""`:                         {"echo", ""},
		"make -j4 A=b":                    {"make", "-j4", "A=b"},
		"git status …":                    {"git", "status", "…"},
	} {
		if got, ok := plain.Words(command); !ok || !slices.Equal(got, want) {
			t.Errorf("%q is read as %q (%v), expected %q", command, got, ok, want)
		}
	}
}

// Each of these begins like a harmless command and does something else besides.
func TestWhatAShellWouldDoMoreWithIsNotPlain(t *testing.T) {
	for _, command := range []string{
		"", " ", "git status; rm -rf /", "git status & rm x", "git status && rm x", "git status || rm x", "git status | sh", "git status\nrm x", "git status\rrm x",
		"git status > /etc/x", "git status < x", "git status 2>&1", "git status $(rm x)", "git status `rm x`", "git status $HOME", `git status "$HOME"`, `git status "$(rm x)"`,
		"git status <(rm x)", "git status *", "git status ?", "git status [a]", "git status {a,b}", "git status ~", "git status #x", "! git status", "git status;", "git status &",
		"PATH=. git status", "(git status)", "{ git status; }", `git\ status`, `git status $'x'`, `git status "a`, "git status 'a", "git status <<x\nx\n", "git status\x00",
		"if git status", "git() { rm x; }", "git status ^a^b", "git status !!", "# git status", strings.Repeat("a", 9000),
	} {
		if words, ok := plain.Words(command); ok {
			t.Errorf("%q was read as the plain words %q", command, words)
		}
	}
}

// Whatever is called plain means the same when its words are quoted and read again.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"ls", "git status; rm x", `a "b c" 'd'`, "a$b", "a\\b", "a <<E\nE", "…"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		words, ok := plain.Words(command)
		if !ok {
			return
		}
		var quoted []string
		for _, w := range words {
			if strings.ContainsAny(w, "\n\r\x00$`\\") {
				t.Fatalf("%q is called plain, and has the word %q", command, w)
			}
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'"'"'`)+"'")
		}
		again, ok := plain.Words(strings.Join(quoted, " "))
		if len(strings.Join(quoted, " ")) <= 8<<10 && (!ok || !slices.Equal(again, words)) {
			t.Errorf("%q is %q, and quoted %q (%v)", command, words, again, ok)
		}
	})
}
