package terminal

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However a stream is cut up, and whenever short beginnings are shown, no secret
// appears and everything else does.
func TestMaskingDoesNotDependOnTheChunks(t *testing.T) {
	secrets := []string{"aabaabaab", "baabaabbb", "aabaabaabccc"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([abc]{0,4}|aabaabaab|baabaabbb|aabaabaabccc){0,12}`).Draw(t, "text")
		want := newMasker(secrets).whole(text)
		m := newMasker(secrets)
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			got.Write(m.push([]byte(rest[:n])))
			rest = rest[n:]
		}
		got.Write(m.end())
		if got.String() != want {
			t.Fatalf("%q gave %q, whole it gives %q", text, got.String(), want)
		}
		for _, s := range secrets {
			if strings.Contains(got.String(), s) {
				t.Fatalf("%q shows %q", got.String(), s)
			}
		}
	})
}

func TestRelentingShowsAtMostAFewBytesOfASecret(t *testing.T) {
	const secret = "0123456789"
	m := newMasker([]string{secret})
	var got strings.Builder
	for _, c := range "x" + secret + "y" {
		got.Write(m.push([]byte(string(c))))
		got.Write(m.relent())
	}
	got.Write(m.end())
	if got.String() != "x012[masked]y" {
		t.Errorf("%q", got.String())
	}
}
