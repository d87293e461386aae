package offline

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse: whatever the script, its steps are within bounds and can be played.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "/", "//", "/say a\n/say b", "/tool x {}\n/and y {\"a\":1}", "/and z", "/tool x {\n/and y {}",
		"/sleep 5\n/pace 1\n/chunks 3", "/fail 429 x\n/fail-once context", "/usage 1 2\n/cost 0.1", "/dance", "/result\r\n/context",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, script string, strict bool) {
		for _, s := range parse(script, strict) {
			switch s.op {
			case opBatch:
				if len(s.calls) == 0 {
					t.Error("an empty batch")
				}
				for _, c := range s.calls {
					if c.name == "" || strings.ContainsAny(c.name, " \n") || !json.Valid([]byte(c.args)) {
						t.Errorf("bad call %+v", c)
					}
					joined := ""
					for rest := c.args; rest != ""; {
						var head string
						if head, rest = fragment(rest, fragmentSize); head == "" {
							t.Fatal("no progress")
						}
						joined += head
					}
					if joined != c.args {
						t.Errorf("fragments join to %q", joined)
					}
				}
			case opSleep, opPace:
				if s.n < 0 || s.n > maxWait {
					t.Errorf("wait %d", s.n)
				}
			case opChunks:
				if s.n < 1 || s.n > maxChunks {
					t.Errorf("chunks %d", s.n)
				}
			case opSay:
				for _, n := range []int64{0, 1, 3} {
					joined, pieces := "", int64(0)
					for p := range cuts(s.text, n) {
						joined += p
						pieces++
					}
					if joined != s.text || n > 0 && pieces != min(n, int64(utf8.RuneCountInString(s.text))) {
						t.Errorf("%d pieces of %q: %d, %q", n, s.text, pieces, joined)
					}
				}
			}
		}
	})
}
