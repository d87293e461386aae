package command

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCappedKeepsHeadAndTailWhateverTheChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOf(rapid.StringN(0, 40, -1)).Draw(t, "chunks")
		c := newCapped(20)
		for _, s := range chunks {
			if n, err := c.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatalf("Write: %d, %v", n, err)
			}
		}
		all, got := strings.Join(chunks, ""), string(c.bytes())
		if len(all) <= 20 {
			if got != all || c.cut() {
				t.Fatalf("%q became %q", all, got)
			}
			return
		}
		if !c.cut() || !strings.HasPrefix(got, all[:10]) || !strings.HasSuffix(got, all[len(all)-10:]) {
			t.Fatalf("%q became %q", all, got)
		}
	})
}
