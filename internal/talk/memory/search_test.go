package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk/memory"
)

func search(t *testing.T, m *memory.Memory, q memory.Query) memory.Found {
	t.Helper()
	found, err := m.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("searching %q: %v", q.Text, err)
	}
	return found
}

func snippets(found memory.Found) (out []string) {
	for _, h := range found.Hits {
		out = append(out, h.Kind+": "+h.Snippet)
	}
	return out
}

func TestSearchFindsTheSameOnBothDatabases(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		id := opened(t, m, main,
			said(model.User, "The Café in Zürich sells naïve art"),
			said(model.Assistant, "東京タワーは高い"),
			said(model.User, "서울에서 만나요"),
			said(model.Assistant, "price: 12.50-EUR (v1.2), C++ & Go; don't OR can't NOT NEAR"),
			said(model.User, "ﬁrst ＡＢＣ"),
			said(model.User, "Ο Οδυσσεύς στους δρόμους"),
			said(model.User, "Её ёлка стоит в МОСКВЕ, Йошкар-Ола"),
			said(model.User, "العَرَبِيَّة לשׁוֹן हिन्दी भाषा"),
			said(model.User, "rockets 🚀 and 👩‍🚀 crews"))
		archived(t, m, id, "Talk about penguins. They swim.")
		for query, want := range map[string][]string{
			"cafe":             {"message: The Café in Zürich sells naïve art"},
			"ZURICH Naive":     {"message: The Café in Zürich sells naïve art"},
			"京タ":               {"message: 東京タワーは高い"},
			"만나":               {"message: 서울에서 만나요"},
			"12.50":            {"message: price: 12.50-EUR (v1.2), C++ & Go; don't OR can't NOT NEAR"},
			"first abc":        {"message: ﬁrst ＡＢＣ"},
			"penguins":         {"archive: Talk about penguins. They swim."},
			"ΟΔΥΣΣΕΥΣ ΔΡΌΜΟΥΣ": {"message: Ο Οδυσσεύς στους δρόμους"},
			"οδυσσευσ":         {"message: Ο Οδυσσεύς στους δρόμους"},
			"елка москве":      {"message: Её ёлка стоит в МОСКВЕ, Йошкар-Ола"},
			"Ёлка ЙОШКАР":      {"message: Её ёлка стоит в МОСКВЕ, Йошкар-Ола"},
			"العربية":          {"message: العَرَبِيَّة לשׁוֹן हिन्दी भाषा"},
			"לשון":             {"message: العَرَبِيَّة לשׁוֹן हिन्दी भाषा"},
			"हिन्दी":           {"message: العَرَبِيَّة לשׁוֹן हिन्दी भाषा"},
			"rockets 🚀":        {"message: rockets 🚀 and 👩‍🚀 crews"},
			"🚀":                nil, // no word, and no error
			"caf":              nil,
			"nothing of this":  nil,
			"":                 nil,
			`"`:                nil,
		} {
			got := snippets(search(t, m, memory.Query{Text: query}))
			if diff := cmp.Diff(len(want), len(got)); diff != "" || (len(want) > 0 && got[0] != want[0]) {
				t.Errorf("%q found %q, want %q", query, got, want)
			}
		}
	})
}

func TestPunctuationCannotBreakAQuery(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		opened(t, m, main, said(model.User, "alpha beta"))
		for _, query := range []string{`"alpha`, `alpha*`, `alpha) OR (`, `NEAR(alpha`, `alpha AND`, `text:alpha`, `a'b`, `alpha & !beta | :*`, `\`, `-alpha`, "alpha\x00", `^alpha`, `{alpha}`} {
			search(t, m, memory.Query{Text: query})
		}
		if got := search(t, m, memory.Query{Text: `alpha* & "beta`}); len(got.Hits) != 1 {
			t.Errorf("%+v; want len(got.Hits) to be 1", got)
		}
	})
}

func TestSearchNeverShowsAnotherSendersWords(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		opened(t, m, main, said(model.User, "my walrus"))
		opened(t, m, memory.Key{Agent: "crab", Sender: "bob"}, said(model.User, "bobs walrus"))
		opened(t, m, memory.Key{Agent: "twin", Sender: "user"}, said(model.User, "twins walrus"))
		if err := m.Remember(t.Context(), memory.Key{Agent: "crab", Sender: "bob"}, "w", "walrus note of bob"); err != nil {
			t.Fatal(err)
		}
		for _, q := range []memory.Query{
			{Text: "walrus", Agent: "crab", Sender: "user"},
			{Text: "walrus", Agent: "crab", Allowed: named("user")},
		} {
			if diff := cmp.Diff([]string{"message: my walrus"}, snippets(search(t, m, q))); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestToolOutputIsNeverFoundToolNamesAre(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		opened(t, m, main,
			said(model.User, "look"),
			memory.Message{Message: model.Message{Role: model.Assistant, Reasoning: "thinking walrus", Calls: []model.Call{{ID: "1", Name: "file_read", Arguments: `{"path":"walrus"}`}}}},
			memory.Message{Message: model.Message{Role: model.Tool, CallID: "1", Name: "file_read", Text: "walrus in the file"}})
		if got := search(t, m, memory.Query{Text: "walrus"}); len(got.Hits) != 0 {
			t.Errorf("%+v; want len(got.Hits) to be 0", got.Hits)
		}
		got := search(t, m, memory.Query{Text: "file_read"})
		if len(got.Hits) != 1 || len(got.Hits[0].Near) != 2 || got.Hits[0].Near[1].Text != "file_read" {
			t.Errorf("%+v; want len(got.Hits) to be 1, len(got.Hits[0].Near) to be 2, got.Hits[0].Near[1].Text to be \"file_read\"", got.Hits)
		}
	})
}

func TestRecallLeavesOutTheLiveWindow(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		id := opened(t, m, main, said(model.User, "walrus of old"), said(model.Assistant, "answer of old"))
		a := archived(t, m, id, "An old talk.")
		opened(t, m, main, said(model.User, "walrus now"))
		opened(t, m, memory.Key{Agent: "crab", Sender: "user", Thread: "b"}, said(model.User, "walrus in a thread"))
		got := search(t, m, memory.Query{Text: "walrus", Agent: "crab", Sender: "user", OutsideOf: id})
		if diff := cmp.Diff([]string{"message: walrus of old", "message: walrus in a thread"}, snippets(got)); diff != "" {
			t.Error(diff)
		}
		one := search(t, m, memory.Query{Text: "walrus", Archive: a.ID})
		if len(one.Hits) != 1 || one.Hits[0].ArchiveID != a.ID || len(one.Hits[0].Near) != 2 {
			t.Errorf("%+v; want len(one.Hits) to be 1, one.Hits[0].ArchiveID to be %v, len(one.Hits[0].Near) to be 2", one.Hits, a.ID)
		}
	})
}

func TestAllWordsFirstThenAny(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		opened(t, m, main, said(model.User, "red boat"), said(model.User, "red car"), said(model.User, "blue boat"))
		if got := search(t, m, memory.Query{Text: "red boat"}); len(got.Hits) != 1 {
			t.Errorf("%q; want len(got.Hits) to be 1", snippets(got))
		}
		if got := search(t, m, memory.Query{Text: "red submarine"}); len(got.Hits) != 2 {
			t.Errorf("%q; want len(got.Hits) to be 2", snippets(got))
		}
	})
}

func TestSnippetsAreCutAtCharacters(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		opened(t, m, main, said(model.User, strings.Repeat("漢字 ", 1000)+"needle "+strings.Repeat("é ", 1000)))
		got := search(t, m, memory.Query{Text: "needle"})
		if len(got.Hits) != 1 || !got.Hits[0].Cut || !strings.Contains(got.Hits[0].Snippet, "needle") || strings.ContainsRune(got.Hits[0].Snippet, '\uFFFD') || len(got.Hits[0].Snippet) > 1024 {
			t.Errorf("%+v", got.Hits)
		}
	})
}

// The newest texts wait to be indexed together; nobody can tell.
func TestTextsThatWaitForTheIndexAreFound(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		var ids []string
		for i := range 5 {
			id := opened(t, m, memory.Key{Agent: "crab", Sender: "user", Thread: fmt.Sprint(i)})
			for j := range 30 {
				if _, err := m.Append(t.Context(), nil, id, said(model.User, fmt.Sprintf("walrus n%d t%d", j, i))); err != nil {
					t.Fatal(err)
				}
			}
			ids = append(ids, id)
			for query, want := range map[string]int{"walrus": (i + 1) * 30, "n29": i + 1, "n29 t0": 1, "n7 nowhere": i + 1, "n99": 0} {
				if got := search(t, m, memory.Query{Text: query, Limit: 20}); len(got.Hits) != min(want, 20) {
					t.Errorf("%q in %d threads found %d, want %d", query, i+1, len(got.Hits), want)
				}
			}
		}
		// One that is in the index, one that waits, and both kinds in one.
		for _, i := range []int{0, 4, 3} {
			if err := m.Delete(t.Context(), nil, ids[i]); err != nil {
				t.Fatal(err)
			}
			if got := search(t, m, memory.Query{Text: fmt.Sprintf("t%d", i)}); len(got.Hits) != 0 {
				t.Errorf("words of a deleted conversation: %q", snippets(got))
			}
		}
		if got := search(t, m, memory.Query{Text: "n29"}); len(got.Hits) != 2 {
			t.Errorf("%q; want len(got.Hits) to be 2", snippets(got))
		}
	})
}

// A word that is common in all memories together is looked up in another way than
// a rare one; what is found in one person's memory is the same.
func TestAWordCommonElsewhereIsFoundInOnesOwnMemoryOnly(t *testing.T) {
	m := memory.New(storetest.SQLite(t))
	many := make([]memory.Message, 2100)
	for i := range many {
		many[i] = said(model.User, fmt.Sprintf("walrus number n%d", i))
	}
	opened(t, m, memory.Key{Agent: "crab", Sender: "bob"}, many...)
	id := opened(t, m, main, said(model.User, "my walrus"), said(model.Assistant, "one more walrus"))
	opened(t, m, memory.Key{Agent: "twin", Sender: "user"}, said(model.User, "twins walrus"))
	if got := search(t, m, memory.Query{Text: "walrus", Agent: "crab", Sender: "user"}); len(got.Hits) != 2 || got.Truncated {
		t.Errorf("a common word: %q", snippets(got))
	}
	if got := search(t, m, memory.Query{Text: "walrus", Agent: "crab", Sender: "user", OutsideOf: id}); len(got.Hits) != 0 {
		t.Errorf("outside the window: %q", snippets(got))
	}
	if got := search(t, m, memory.Query{Text: "n7 walrus", Agent: "crab", Sender: "bob"}); len(got.Hits) != 1 || got.Hits[0].Snippet != "walrus number n7" {
		t.Errorf("a rare word: %q", snippets(got))
	}
	if got := search(t, m, memory.Query{Text: "n7", Agent: "crab", Sender: "user"}); len(got.Hits) != 0 {
		t.Errorf("somebody else's rare word: %q", snippets(got))
	}
}
