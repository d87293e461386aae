package mask_test

import (
	"encoding/json"
	"testing"

	"parley.internal/internal/mask"
)

// FuzzMaskedArgumentsStayJSON: whatever is masked, it stays the JSON that it was.
func FuzzMaskedArgumentsStayJSON(f *testing.F) {
	for _, seed := range []string{`password=x`, `Bearer abcdefghijkl`, `-----BEGIN PRIVATE KEY-----`, `a://b:c@d`, "\u2028", `"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		args, err := json.Marshal(map[string]string{"script": script})
		if err != nil {
			return
		}
		masked := (*mask.Mask)(nil).GuessJSON(args)
		var back map[string]string
		if err := json.Unmarshal([]byte(masked), &back); err != nil {
			t.Fatalf("%q: %v; want no error", masked, err)
		}
	})
}
