package mask_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley.internal/internal/mask"
)

func masking(list ...string) *mask.Mask { return mask.New(func() []string { return list }) }

// However a text is cut up, and whenever short beginnings are shown, no secret
// appears and everything else does: what comes out is what the whole text gives.
func TestMaskingDoesNotDependOnTheChunks(t *testing.T) {
	const secretForm = "prl_aabaabaabaabaabaabaab"
	secrets := []string{"aabaabaab", "baabaabbb", "aabaabaabccc", "ccaabaabbaabcc!", "key-*"}
	m := masking(secrets...)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([abc!]{0,4}|prl_|key-|prl_[abc]{15,30}|key-[abc]{5,12}|aabaabaab|baabaabbb|aabaabaabccc|ccaabaabbaabcc!){0,12}`).Draw(t, "text")
		want, s := m.Text(text), m.Stream()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			got.Write(s.Push([]byte(rest[:n])))
			rest = rest[n:]
		}
		got.Write(s.End())
		if got.String() != want {
			t.Fatalf("%q in pieces gives %q, whole it gives %q", text, got.String(), want)
		}
		for _, secret := range append(secrets, secretForm) {
			if strings.Contains(want, secret) {
				t.Fatalf("%q still shows the secret %q", want, secret)
			}
		}
	})
}

func TestRelentingShowsAtMostAFewBytesOfASecret(t *testing.T) {
	const secret = "0123456789"
	s := masking(secret).Stream()
	var got strings.Builder
	for _, c := range "x" + secret + "y" {
		got.Write(s.Push([]byte(string(c))))
		got.Write(s.Relent())
	}
	got.Write(s.End())
	if got.String() != "x012[masked]y" {
		t.Errorf("typed letter by letter, a secret shows as %q; only its first three letters may show", got.String())
	}
}

// A text that holds thousands of secrets is masked in one walk: an output is no way
// to keep the hub busy.
func TestATextFullOfSecretsIsReadOnce(t *testing.T) {
	list := make([]string, 40)
	for i := range list {
		list[i] = strings.Repeat(string(rune('A'+i)), 12)
	}
	got := masking(list...).Text(strings.Repeat("prl_0123456789012345678901234567890123456789012 ", 20_000))
	if got != strings.Repeat("[masked] ", 20_000) {
		t.Errorf("of 20,000 tokens this is left: %.100q", got)
	}
}
