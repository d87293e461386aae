package kibitz

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRoomIDs(t *testing.T) {
	long := strings.Repeat("a", 39)
	for in, want := range map[string]string{
		"standup": "standup", "My Room": "my-room", "--a--b--": "a-b", "Ünï 1": "n-1", "\u212aelvin": "kelvin",
		"İzmir": "i-zmir", long + "aa": long + "a", long + " b": long + "-", "a/../b": "a-b", "日本": "", "": "", "-": "",
	} {
		got, err := NormalizeRoom(in)
		if got != want || (CodeOf(err) == RoomBadID) != (want == "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestNamesAreFitToShow(t *testing.T) {
	for in, want := range map[string]string{
		"Ada": "Ada", " \x00 ": "Guest", "": "Guest", "A\nB\x7f": "AB",
		strings.Repeat("é", 41): strings.Repeat("é", 40),
	} {
		if got := CleanName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSanitise(t *testing.T) {
	none := []Capability{}
	for in, want := range map[string]Grant{
		`null`: {Perceive: none, Act: none},
		`"x"`:  {Perceive: none, Act: none},
		`{"perceive":"read-chat","act":{"0":"act"}}`:                    {Perceive: none, Act: none},
		`{"perceive":["send-chat","read-chat",1],"act":["see-screen"]}`: {Perceive: []Capability{ReadChat}, Act: none},
		`{"perceive":["read-roster","read-chat","read-roster"]}`:        {Perceive: []Capability{ReadRoster, ReadChat}, Act: none},
		`{"act":["Act","act "],"egress":0,"expiresAt":-1}`:              {Perceive: none, Act: none},
		`{"egress":"no","backend":5,"expiresAt":"1"}`:                   {Perceive: none, Act: none, Egress: true},
		`{"egress":"","expiresAt":1.5}`:                                 {Perceive: none, Act: none, ExpiresAt: 1.5},
		`{"backend":"` + strings.Repeat("ü", 90) + `"}`:                 {Perceive: none, Act: none, Backend: strings.Repeat("ü", 80)},
		`{"act":["act"],"act":["speak"]}`:                               {Perceive: none, Act: none},
	} {
		if d := cmp.Diff(want, Sanitise(Raw(in))); d != "" {
			t.Errorf("%s:\n%s", in, d)
		}
	}
}

func TestGrantWritesBothLists(t *testing.T) {
	got, err := json.Marshal(Grant{ExpiresAt: 1700000000})
	if err != nil || string(got) != `{"perceive":[],"act":[],"expiresAt":1700000000}` {
		t.Errorf("%s, %v; want no error, string(got) to be \"{\"perceive\":[],\"act\":[],\"expiresAt\":1700000000}\"", got, err)
	}
}

func TestDefaultsSummaryAndExpiry(t *testing.T) {
	if can, cannot := FullGrant().Summary(); len(can) != 8 || len(cannot) != 0 {
		t.Errorf("full: %v %v", can, cannot)
	}
	if got := AgentGrant().String(); got != "read-chat,read-roster,receive-directed" {
		t.Errorf("agent: %s", got)
	}
	g := FullGrant()
	g.ExpiresAt, g.Backend = 100, "B"
	if got := g.Effective(time.Unix(99, 999e6)); !cmp.Equal(got, g) {
		t.Errorf("before: %+v", got)
	}
	if got := g.Effective(time.Unix(100, 0)); got.String() != "nothing" || got.Backend != "B" || got.ExpiresAt != 100 {
		t.Errorf("at: %+v", got)
	}
	if got := FullGrant().Gained(AgentGrant()); len(got) != 5 {
		t.Errorf("gained: %v", got)
	}
}

func anyGrant(t *rapid.T) Grant {
	words := rapid.SliceOf(rapid.SampledFrom(append(Words(), "bogus")))
	g := Grant{Perceive: words.Draw(t, "perceive"), Act: words.Draw(t, "act"), Backend: rapid.String().Draw(t, "backend")}
	g.ExpiresAt = float64(rapid.IntRange(0, 5).Draw(t, "expires"))
	if !rapid.Bool().Draw(t, "raw") {
		return g
	}
	data, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return Sanitise(data)
}

func TestNoSequenceOfIntersectionsWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allowed := anyGrant(t)
		held := allowed
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			// Either side may be the request: neither may gain by it.
			if next := anyGrant(t); rapid.Bool().Draw(t, "asks") {
				held = Intersect(next, held)
			} else {
				held = Intersect(held, next)
			}
			for now := range int64(7) {
				at := time.Unix(now, 0)
				if got := held.Effective(at).Gained(allowed.Effective(at)); len(got) > 0 {
					t.Fatalf("gained %v at %d: %+v from %+v", got, now, held, allowed)
				}
			}
		}
	})
}

func FuzzGrant(f *testing.F) {
	f.Add([]byte(`{"perceive":["read-chat"],"act":["act"],"backend":"x","egress":1,"expiresAt":3}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := Sanitise(data)
		again, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(g, Sanitise(again)); d != "" {
			t.Fatalf("not stable:\n%s", d)
		}
	})
}
