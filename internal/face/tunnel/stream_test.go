package tunnel_test

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
)

// The page has one stream: it tells of machines where a page asks for them, and to
// whom may see them.
func TestThePagesOneStreamTellsOfMachinesToo(t *testing.T) {
	h := newHub(t, options{})
	blind := must(h.people.CreateToken(t.Context(), identity.Local(h.owner), identity.TokenRequest{Name: "t", Scopes: []string{"approval:read"}}))(t).Secret
	open := func(path, token string) *bufio.Scanner {
		t.Helper()
		req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.URL+path, http.NoBody))(t)
		req.Header.Set("Authorization", "Bearer "+token)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp := must(client.Do(req))(t)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return bufio.NewScanner(resp.Body)
	}
	events := func(lines *bufio.Scanner, last string) (names []string) {
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				names = append(names, name)
				if name == last {
					break
				}
			}
		}
		return names
	}
	with, without, unseen := open("/api/events?machines=1", h.token), open("/api/events", h.token), open("/api/events?machines=1", blind)
	for _, s := range []*bufio.Scanner{with, without, unseen} {
		events(s, "ready") // the inbox has been told; what follows is news
	}
	h.join("pc")
	heard := make(chan []string, 1)
	go func() { heard <- events(with, "machine") }()
	for n, done := 0, false; !done; n++ { // the stream may begin to watch a moment after its first words
		h.rest("PATCH", "/api/machines/pc", fmt.Sprintf(`{"name":"name %d"}`, n))
		select {
		case got := <-heard:
			done = true
			if !slices.Contains(got, "machine") {
				t.Fatalf("%q; want slices.Contains(got, \"machine\")", got)
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	must(h.inbox.Ask(t.Context(), approval.Request{Kind: approval.KindTool, Tool: "x", Principal: h.owner.ID}))(t)
	for name, s := range map[string]*bufio.Scanner{"not asked for": without, "not allowed": unseen} {
		if got := events(s, "approval"); slices.Contains(got, "machine") || !slices.Contains(got, "approval") {
			t.Errorf("%s: %q; want not slices.Contains(got, \"machine\"), slices.Contains(got, \"approval\")", name, got)
		}
	}
	if got := events(with, "approval"); !slices.Contains(got, "approval") {
		t.Errorf("%q; want slices.Contains(got, \"approval\")", got)
	}
}
