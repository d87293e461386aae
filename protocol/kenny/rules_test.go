package kenny

import (
	"strings"
	"testing"
	"time"
)

func TestProtocolVersionsCompareByNumber(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"0.8", "0.8", 0},
		{"0.10", "0.8", 1},
		{"0.7", "0.8", -1},
		{"1", "0.8", 1},
		{"0.8.0", "0.8", 0},
		{"0.8.1", "0.8", 1},
		{"00.08", "0.8", 0},
		{"", "0.8", -1},
		{"junk", "0.8", -1},
		{"0.x", "0.8", -1},
		{"0.8-beta", "0.8", -1},
		{"v1", "0.8", -1},
		{"-1", "0", 0},
		{"", "", 0},
		{"...", "0", 0},
		{"٣.٣", "0.8", -1},
		{"0.99999999999999999999999999", "0.8", 1},
		{"1.2.3", "1.2.10", -1},
	} {
		if got := compareProtocols(c.a, c.b); got != c.want {
			t.Errorf("%q against %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := compareProtocols(c.b, c.a); got != -c.want {
			t.Errorf("%q against %q: %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

func TestSignaturePathNeedsNonceAndVersion(t *testing.T) {
	nonce := make([]byte, NonceSize)
	for _, c := range []struct {
		in   Register
		want bool
	}{
		{Register{Protocol: "0.8", ClientNonce: nonce}, true},
		{Register{Protocol: "0.10", ClientNonce: nonce}, true},
		{Register{Protocol: "0.7", ClientNonce: nonce}, false},
		{Register{ClientNonce: nonce}, false},
		{Register{Protocol: "0.8"}, false},
		{Register{Token: "t"}, false},
	} {
		if got := c.in.Signed(); got != c.want {
			t.Errorf("%+v: %v; want %v", c.in, got, c.want)
		}
	}
}

func TestMachineIDs(t *testing.T) {
	for _, id := range []string{"a", "A9", "a.b_c-d", strings.Repeat("z", 64)} {
		if err := CheckID(id); err != nil {
			t.Error(err)
		}
	}
}

func TestTimestampsKeepTheInstant(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 15, 30, 250e6, time.FixedZone("x", 3600))
	got, err := At(at).Time()
	if err != nil || !got.Equal(at) || !strings.HasSuffix(string(At(at)), "Z") {
		t.Errorf("%v %v; want no error, got.Equal(at), strings.HasSuffix(string(At(at)), \"Z\")", got, err)
	}
}

func TestErrorsCompareByCode(t *testing.T) {
	err := &Error{Code: CodeOffline, Message: "machine disconnected during the call"}
	if err.Error() != "offline: machine disconnected during the call" || !err.Is(&Error{Code: CodeOffline}) || err.Is(&Error{Code: CodeBusy}) {
		t.Error(err)
	}
}

func TestCodesAreDistinctAndPassable(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range append(MachineCodes(), HubCodes()...) {
		if seen[c] || c.Passable() != c {
			t.Error(c)
		}
		seen[c] = true
	}
	if len(seen) != 19 {
		t.Errorf("len(seen) is %v; want len(seen) to be 19", len(seen))
	}
}
