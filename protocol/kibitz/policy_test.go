package kibitz

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnEmptyPolicyHasTheDefaults(t *testing.T) {
	p, err := ReadPolicy(Raw(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(DefaultPolicy(), p); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if p.Max != 32 || p.Humans.Mode != "hub" || p.Agents.Mode != "gated" || !p.Mesh.Media || p.Mesh.Data || p.Views.Publishers[0] != "host" {
		t.Errorf("%+v", p)
	}
}

func TestPolicyDocuments(t *testing.T) {
	for _, tc := range []struct {
		name, doc string
		ok        bool
	}{
		{"null fields", `{"humans":null,"agents":null,"views":null,"max":null}`, true},
		{"unknown words of a grant", `{"humans":{"grant":{"perceive":["read-chat","bogus"]}}}`, true},
		{"a key that cannot be imported", `{"agents":{"keys":[{"key":{"kty":"oct"}}]}}`, true},
		{"unknown field", `{"humens":{}}`, false},
		{"unknown field inside", `{"agents":{"keys":[{"key":{},"cap":{}}]}}`, false},
		{"wrong type", `{"sealed":"yes"}`, false},
		{"unknown mode", `{"agents":{"mode":"sometimes"}}`, false},
		{"a name twice", `{"max":1,"max":2}`, false},
		{"too large", `{"max":10001}`, false},
		{"negative", `{"max":-1}`, false},
		{"no object", `7`, false},
	} {
		p, err := ReadPolicy(Raw(tc.doc))
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v; want (err == nil) to be %v", tc.name, err, tc.ok)
		}
		if err != nil && CodeOf(err) != PolicyBad {
			t.Errorf("%s: %v", tc.name, err)
		}
		if p != nil && (p.Max < 1 || p.Views.Publishers == nil) {
			t.Errorf("%s: %+v", tc.name, p)
		}
	}
}

func TestAbsentAndEmptyGrantsOfAPolicyDiffer(t *testing.T) {
	p, err := ReadPolicy(Raw(`{"humans":{"guestGrant":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Humans.Grant != nil || p.Humans.GuestGrant == nil || p.Humans.GuestGrant.String() != "nothing" {
		t.Errorf("%+v; want p.Humans.Grant to be nil, p.Humans.GuestGrant not to be nil, p.Humans.GuestGrant.String() to be \"nothing\"", p.Humans)
	}
}

func TestPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"svc-*", "svc-1", true},
		{"svc-*", "svc-", true},
		{"svc-*", "xsvc-1", false},
		{"*", "", true},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"exact", "exact", true},
		{"exact", "exactly", false},
		{"", "", true},
		{"", "x", false},
		{"spiffe://td/agents/*", "spiffe://td/agents/a/b", true},
	} {
		if got := Match(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%q %q: %v; want %v", tc.pattern, tc.text, got, tc.want)
		}
	}
}

func TestAManifestThatNamesNobodyAdmitsNobody(t *testing.T) {
	p := DefaultPolicy()
	if err := p.Apply(&Manifest{Mode: ManifestGoogle, Room: "r", AgentKeys: []AllowedKey{{}}}); err != nil {
		t.Fatal(err)
	}
	if p.Humans.Mode != HumansOIDC || p.Humans.OIDC.Allows("anybody@example.org", "r") {
		t.Errorf("%+v; want p.Humans.Mode to be %v, not p.Humans.OIDC.Allows(\"anybody@example.org\", \"r\")", p.Humans, HumansOIDC)
	}
	if err := p.Apply(&Manifest{Mode: ManifestGoogle, Room: "r", Members: []string{"ann@example.org"}, MH: []string{HashMember("Ben@example.org", "r")}}); err != nil {
		t.Fatal(err)
	}
	if o := p.Humans.OIDC; !o.Allows("ben@example.org", "r") || o.Allows("ann@example.org", "r") || o.Allows("ben@example.org", "other") {
		t.Error("a hashed list matches through its hashes only")
	}
}

func FuzzReadPolicy(f *testing.F) {
	for _, s := range []string{`{}`, `{"humans":{"mode":"open","grant":{"act":["act"]}}}`, `{"agents":{"keys":[{"key":{"kty":"EC"},"caps":{}}],"ca":{"roots":["x"]}}}`, `[]`, `{"max":1e9}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPolicy(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ReadPolicy(again)
		if err != nil {
			t.Fatalf("%s: %v; want no error", again, err)
		}
		if d := cmp.Diff(p, q); d != "" {
			t.Errorf("d is %v; want no difference", d)
		}
		_ = p.Warnings()
	})
}
