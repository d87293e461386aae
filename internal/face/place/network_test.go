package place_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
)

// Whoever has one IPv6 address has a network of them, and uses another one each time.
func TestAnIPv6NetworkCountsAsOneAddress(t *testing.T) {
	w := newWorld(t, policy(place.Open), func(c *place.Config, _ *place.Deps, fd *faceplace.Deps) { fd.Limits.Address, c.NewIDs = 3, 2 })
	from := func(address, method, path, body string) int {
		r := httptest.NewRequest(method, path, nil)
		if body != "" {
			r = httptest.NewRequest(method, path, strings.NewReader(body))
		}
		r.RemoteAddr = address
		out := httptest.NewRecorder()
		w.face.ServeHTTP(out, r)
		return out.Code
	}
	for i, address := range []string{"[2001:db8:0:1::1]:9", "[2001:db8:0:1::2]:9", "[2001:db8:0:1:ffff::3]:9"} {
		if got := from(address, "GET", "/place/v1/info", ""); got != http.StatusOK {
			t.Fatalf("request %d of a network: got %d, want 200", i+1, got)
		}
	}
	if got := from("[2001:db8:0:1::4]:9", "GET", "/place/v1/info", ""); got != http.StatusTooManyRequests {
		t.Errorf("a fresh address of a network that used its share up: got %d, want 429", got)
	}
	if got := from("[2001:db8:0:2::1]:9", "GET", "/place/v1/info", ""); got != http.StatusOK {
		t.Errorf("another network: got %d, want 200", got)
	}
	// New ids are counted the same way.
	for i, want := range []int{200, 200, 429} {
		id := string(rune('a' + i))
		if got := from("[2001:db8:0:3::"+id+"]:9", "POST", "/place/v1/register", `{"id":"`+id+`"}`); got != want {
			t.Errorf("new id %d of a network: got %d, want %d", i+1, got, want)
		}
	}
}
