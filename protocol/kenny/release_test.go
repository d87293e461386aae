package kenny

import (
	"strings"
	"testing"
)

func TestReleaseMessageNamesVersionPlatformAndHash(t *testing.T) {
	got := string(ReleaseMessage("1.2.3", "linux-amd64", [32]byte{0: 0xAB}))
	want := "parley-release-v1\x001.2.3\x00linux-amd64\x00ab" + strings.Repeat("0", 62)
	if got != want {
		t.Errorf("%q; want %v", got, want)
	}
}
