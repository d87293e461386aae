package archtest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// doors are what only few files may make, and who: each is a way into the hub, or
// out of it, that goes past the declarations of routes or past the one dialer.
var doors = []struct {
	what, why string
	text      string
	only      []string
}{
	{"a mux", "register routes with front.Routes, which wants their limits", "http.ServeMux", []string{"internal/face/front/"}},
	{"a mux", "register routes with front.Routes, which wants their limits", "http.NewServeMux", []string{"internal/face/front/"}},
	{"a transport", "use publicnet.Guard: it refuses what is not public", "http.Transport{", []string{
		"internal/publicnet/",
		"internal/brain/modelhttp/", "internal/brain/mcpclient/", // addresses whoever runs the hub wrote down
		"internal/endpoint/update/", // runs on machines, and checks signatures
		"internal/bench/",
	}},
}

func TestOnlyTheFrontMakesWaysInAndOnlyTheGuardWaysOut(t *testing.T) {
	eachFile(t, func(path string) {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		if !strings.HasPrefix(name, "internal/") || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return
		}
		text := string(read(t, path))
		for _, door := range doors {
			allowed := slices.ContainsFunc(door.only, func(folder string) bool { return strings.HasPrefix(name, folder) })
			if !allowed && strings.Contains(text, door.text) {
				t.Errorf("%s makes %s: %s", name, door.what, door.why)
			}
		}
	})
}
