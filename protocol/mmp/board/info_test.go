package board

import (
	"testing"

	"parley.internal/protocol/mmp"
)

func FuzzLimits(f *testing.F) {
	for _, seed := range []string{`{"deposit_limits":{"a":"100KB","b":20,"c":"7"}}`, `{"limits":[1]}`, `{"limits":null}`, `{"limits":{"a":1e400}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		var info Info
		_ = mmp.DecodeTolerant(data, &info)
	})
}
