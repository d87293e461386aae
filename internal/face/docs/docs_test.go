package docs_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"parley.internal"
	"parley.internal/internal/face/docs"
	"parley.internal/internal/face/front"
)

const description = `{"paths":{"/api/things/{id}":{"get":{"operationId":"get-thing","summary":"Show <one>","tags":["Things"],
 "parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
 "responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}}}}}},
 "components":{"schemas":{"Thing":{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"what it is called"},"next":{"$ref":"#/components/schemas/Thing"}}}}}}`

func get(t *testing.T, path string) (int, string, http.Header) {
	t.Helper()
	routes := front.NewRoutes(front.New(front.Deps{}))
	docs.New(parley.Docs, func() ([]byte, error) { return []byte(description), nil }).Register(routes)
	w := httptest.NewRecorder()
	routes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String(), w.Header()
}

var href = regexp.MustCompile(`href="(/docs/[^"#]*)`)

// Whoever follows links from the list comes to every page, and nowhere into nothing.
func TestEveryPageIsReachedAndEveryLinkLeadsSomewhere(t *testing.T) {
	seen := map[string]bool{}
	todo := []string{"/docs/"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		code, body, header := get(t, path)
		if code != http.StatusOK || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d, %v", path, code, header)
		}
		if strings.Contains(body, "<script") || strings.Contains(body, "<img") {
			t.Errorf("%s has a script or a picture in it", path)
		}
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			todo = append(todo, m[1])
		}
	}
	for _, want := range []string{"/docs/install", "/docs/operations", "/docs/decisions/056-releases", "/docs/api"} {
		if !seen[want] {
			t.Errorf("nothing leads to %s", want)
		}
	}
}

func TestASearchFindsSectionsByAllTheirWords(t *testing.T) {
	_, body, _ := get(t, "/docs/search?q=verify-release+signature")
	if !strings.Contains(body, "/docs/install#check-what-you-have") {
		t.Errorf("it finds %s", body)
	}
	_, body, _ = get(t, "/docs/search?q=verify-release+xyzzyplugh")
	if !strings.Contains(body, "Nothing has all of these words") {
		t.Error("a word that is nowhere finds something")
	}
	for _, q := range []string{"", "%20", "%ff%fe", strings.Repeat("a", 10000)} {
		if code, _, _ := get(t, "/docs/search?q="+q); code != http.StatusOK {
			t.Errorf("a search for %.20q: %d", q, code)
		}
	}
}

func TestWhatIsSearchedForIsNoMarkup(t *testing.T) {
	_, body, _ := get(t, `/docs/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E`)
	if strings.Contains(body, "<script") || !strings.Contains(body, "&lt;script") {
		t.Errorf("it says %s", body)
	}
}

func TestOperationsAreShownWithWhatTheyTake(t *testing.T) {
	_, body, _ := get(t, "/docs/api")
	for _, want := range []string{"GET /api/things/{id}", "Show &lt;one&gt;", "<td>id *</td><td>path</td>", "<td>name *</td><td>string</td><td>what it is called</td>", "<td>next</td><td>Thing</td>"} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	if code, _, _ := get(t, "/docs/../../etc/passwd"); code == http.StatusOK {
		t.Errorf("%d", code)
	}
	if code, body, _ := get(t, "/docs/nothing"); code != http.StatusNotFound || !strings.Contains(body, "All pages") {
		t.Errorf("%d %s", code, body)
	}
}
