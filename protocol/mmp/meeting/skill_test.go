package meeting

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/mmp"
)

func TestProvenanceReceived(t *testing.T) {
	for name, c := range map[string]struct {
		in   *Provenance
		want Provenance
		err  error
	}{
		"none":             {nil, Provenance{Origin: "ada", Chain: []string{"ada"}}, nil},
		"first hand":       {&Provenance{Origin: "ada", Chain: []string{"ada"}}, Provenance{Origin: "ada", Chain: []string{"ada"}}, nil},
		"second hand":      {&Provenance{Origin: "o", Chain: []string{"o", "ada"}, HopCount: 1}, Provenance{Origin: "o", Chain: []string{"o", "ada"}, HopCount: 1}, nil},
		"sender not named": {&Provenance{Origin: "o", Chain: []string{"o"}}, Provenance{Origin: "o", Chain: []string{"o", "ada"}, HopCount: 1}, nil},
		"understated":      {&Provenance{Origin: "o", Chain: []string{"o", "x", "ada"}}, Provenance{Origin: "o", Chain: []string{"o", "x", "ada"}, HopCount: 2}, nil},
		"overstated":       {&Provenance{Origin: "ada", Chain: []string{"ada"}, HopCount: 2}, Provenance{Origin: "ada", Chain: []string{"ada"}, HopCount: 2}, nil},
		"origin only":      {&Provenance{Origin: "o"}, Provenance{Origin: "o", Chain: []string{"o", "ada"}, HopCount: 1}, nil},
		"no origin":        {&Provenance{Chain: []string{"o", "ada"}}, Provenance{Origin: "o", Chain: []string{"o", "ada"}, HopCount: 1}, nil},
		"other origin":     {&Provenance{Origin: "o", Chain: []string{"x", "ada"}}, Provenance{Origin: "o", Chain: []string{"o", "x", "ada"}, HopCount: 2}, nil},
		"three hops":       {&Provenance{Origin: "o", Chain: []string{"o", "x", "y", "ada"}}, Provenance{}, ErrHopLimit},
		"claims three":     {&Provenance{Origin: "ada", Chain: []string{"ada"}, HopCount: 3}, Provenance{}, ErrHopLimit},
		"sender twice":     {&Provenance{Origin: "o", Chain: []string{"o", "ada", "ada"}, HopCount: 2}, Provenance{Origin: "o", Chain: []string{"o", "ada"}, HopCount: 1}, nil},
		"twice, own":       {&Provenance{Chain: []string{"ada", "ada"}, HopCount: 1}, Provenance{Origin: "ada", Chain: []string{"ada"}}, nil},
		"another twice":    {&Provenance{Chain: []string{"o", "o", "ada"}}, Provenance{}, ErrLoop},
		"loop":             {&Provenance{Origin: "o", Chain: []string{"o", "x", "o"}}, Provenance{}, ErrLoop},
		"came back to me":  {&Provenance{Origin: "bob", Chain: []string{"bob", "ada"}}, Provenance{}, ErrLoop},
	} {
		got, err := c.in.Receive("ada", "bob")
		if d := cmp.Diff(c.want, got); d != "" || !errors.Is(err, c.err) {
			t.Errorf("%s: %v %s; want no difference, %v", name, err, d, c.err)
		}
	}
}

func TestProvenanceGrowsByOneAHop(t *testing.T) {
	var held *Provenance
	agents := []string{"a", "b", "c", "d", "e"}
	for i := range 4 {
		sent := held.Send(agents[i])
		if sent.HopCount != i || len(sent.Chain) != i+1 || sent.Origin != "a" {
			t.Fatalf("hop %d: %+v", i, sent)
		}
		got, err := sent.Receive(agents[i], agents[i+1])
		if i == 3 {
			if !errors.Is(err, ErrHopLimit) {
				t.Error(err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		held = &got
	}
}

func TestProvenanceHopsCanBeVouchedFor(t *testing.T) {
	w := newWorld(t)
	content := mmp.HashOf("# Skill")
	p, err := (*Provenance)(nil).Send("ada").SignHop(w.ada, content)
	if err != nil {
		t.Fatal(err)
	}
	p = (&p).Send("bob")
	signed, err := p.SignHop(w.bob, content)
	if err != nil {
		t.Fatal(err)
	}
	keys := func(id string) *mmp.PublicKey {
		return map[string]*mmp.PublicKey{"ada": w.ada.Public(), "bob": w.bob.Public()}[id]
	}
	if d := cmp.Diff([]bool{true, true}, signed.VerifiedHops(content, keys)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if d := cmp.Diff([]bool{true, false}, p.VerifiedHops(content, keys)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if d := cmp.Diff([]bool{false, false}, signed.VerifiedHops(mmp.HashOf("other"), keys)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	cut := signed
	cut.Chain = []string{"eve", "ada", "bob"}
	if d := cmp.Diff([]bool{false, false, false}, cut.VerifiedHops(content, keys)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

func TestSkillChecksInOrder(t *testing.T) {
	good := SkillCheck{Format: "markdown", Content: "# Skill", ContentHash: mmp.HashOf("# Skill").Bare(), Sender: "ada", Me: "bob"}
	for name, c := range map[string]struct {
		change func(*SkillCheck)
		want   error
	}{
		"good":              {func(*SkillCheck) {}, nil},
		"front matter":      {func(c *SkillCheck) { c.Format = "yaml_frontmatter" }, nil},
		"ruby":              {func(c *SkillCheck) { c.Format = "ruby"; c.Content = strings.Repeat("x", mmp.MaxSkill+1) }, SkillFormat},
		"no format":         {func(c *SkillCheck) { c.Format = "" }, SkillFormat},
		"allowed by name":   {func(c *SkillCheck) { c.Format = "python"; c.ExtraFormats = []string{"python"} }, nil},
		"too large":         {func(c *SkillCheck) { c.Content = strings.Repeat("x", mmp.MaxSkill+1); c.ContentHash = "" }, SkillTooLarge},
		"binary":            {func(c *SkillCheck) { c.Content = "a\x00b"; c.ContentHash = "" }, SkillNotText},
		"bad UTF-8":         {func(c *SkillCheck) { c.Content = "\xff" }, SkillNotText},
		"empty":             {func(c *SkillCheck) { c.Content = "" }, SkillNotText},
		"no hash":           {func(c *SkillCheck) { c.ContentHash = "" }, SkillHashMissing},
		"no hash needed":    {func(c *SkillCheck) { c.ContentHash = ""; c.HashOptional = true }, nil},
		"prefixed hash":     {func(c *SkillCheck) { c.ContentHash = strings.ToUpper(mmp.HashOf(c.Content).Prefixed()) }, nil},
		"other hash":        {func(c *SkillCheck) { c.ContentHash = mmp.HashOf("x").Bare() }, SkillHashMismatch},
		"offered otherwise": {func(c *SkillCheck) { c.OfferedHash = mmp.HashOf("x").Prefixed() }, SkillHashMismatch},
		"offer had no hash": {func(c *SkillCheck) { c.OfferedHash = "sha256:abc123..." }, nil},
		"too far":           {func(c *SkillCheck) { c.Provenance = &Provenance{HopCount: 3}; c.Full = true }, SkillHopLimit},
		"loop":              {func(c *SkillCheck) { c.Provenance = &Provenance{Origin: "bob"} }, SkillHopLimit},
		"full":              {func(c *SkillCheck) { c.Full = true }, SkillCapacity},
		"as large as may be": {func(c *SkillCheck) {
			c.Content = strings.Repeat("x", mmp.MaxSkill)
			c.ContentHash = mmp.HashOf(c.Content).Bare()
		}, nil},
	} {
		check := good
		c.change(&check)
		if _, err := CheckSkill(check); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, f := range []string{"ruby", "ruby_dsl", "ast", "python", "javascript", "executable", "MARKDOWN2"} {
		if FormatAllowed(f) {
			t.Errorf("%s is allowed", f)
		}
	}
}

func TestHostileNamesAreContained(t *testing.T) {
	for in, want := range map[string]string{
		"Translation Patterns": "translation_patterns", "../../etc/passwd": "etc_passwd", "C:\\Windows\\con": "c_windows_con",
		"con": "skill_con", "": "skill", "...": "skill", "\x00\x1b[31m": "31m", "日本語": "skill", "a\u202Eb": "a_b",
		"-rf": "rf", "COM1": "skill_com1", strings.Repeat("x", 300): strings.Repeat("x", 64), "a//b": "a_b",
	} {
		got := SafeName(in)
		if got != want || !ValidSkillID(got) {
			t.Errorf("%q: %q; want got to be %v, ValidSkillID(got)", in, got, want)
		}
	}
	at := time.Date(2026, 1, 30, 12, 0, 5, 0, time.UTC)
	if got := ReceivedFile("../X", at); got != "x_20260130_120005.md" {
		t.Errorf("got is %v; want \"x_20260130_120005.md\"", got)
	}
	if got := LocalName("Tea", "agent/1", func(s string) bool { return s == "tea" }); got != "tea~agent_1" {
		t.Errorf("got is %v; want \"tea~agent_1\"", got)
	}
	if got := LocalName("Tea", "x", func(string) bool { return false }); got != "tea" {
		t.Errorf("got is %v; want \"tea\"", got)
	}
	for id, want := range map[string]bool{"tea": true, "Tea": false, "a.b": false, "nul": false, "": false, "a/b": false, "tea\n": false} {
		if ValidSkillID(id) != want {
			t.Errorf("%q; want ValidSkillID(id) to be %v", id, want)
		}
	}
}

func TestPreviewPieces(t *testing.T) {
	doc := "# One\ntext\n```\n# no heading\n```\n## Two\n#hash\nlast"
	if d := cmp.Diff([]string{"One", "Two"}, Sections(doc)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if FirstLines(doc, 2) != "# One\ntext\n" || FirstLines("a", 30) != "a" || FirstLines(doc, 0) != "" || FirstLines("é\nb", 1) != "é\n" {
		t.Error("first lines")
	}
	if CountLines(doc) != 8 || CountLines("") != 0 || CountLines("a\n") != 1 {
		t.Error("count")
	}
}

func TestFrontMatter(t *testing.T) {
	fm, body, err := SplitFrontMatter("---\r\nname: Tea\r\ntags: [a, b]\npublic: true\nversion: 1.0\nempty:\n---\nBody\n---\nmore")
	if err != nil || body != "Body\n---\nmore" || fm.Text("name") != "Tea" || fm.Text("version") != "1.0" || !fm.True("public") || fm.Has("empty") {
		t.Errorf("%q %v", body, err)
	}
	if tags, err := fm.List("tags"); err != nil || cmp.Diff([]string{"a", "b"}, tags) != "" {
		t.Error(tags, err)
	}
	if one, err := fm.List("name"); err != nil || len(one) != 1 {
		t.Error(one, err)
	}
	for name, doc := range map[string]string{
		"none": "# Title\n---\n", "empty": "", "rule later": "\n---\na: 1\n---\n", "only a line": "---",
	} {
		if fm, body, err := SplitFrontMatter(doc); err != nil || body != doc || fm.Has("a") {
			t.Errorf("%s: %q %v; want no error, body to be %v, not fm.Has(\"a\")", name, body, err, doc)
		}
	}
	for name, doc := range map[string]string{
		"open": "---\nname: x\n", "list": "---\n- a\n---\n", "alias": "---\na: &x [1]\nb: *x\n---\n", "tag": "---\na: !!binary aGk=\n---\n",
		"twice": "---\na: 1\na: 2\n---\n", "broken": "---\na: [1\n---\n", "key": "---\n[1]: 2\n---\n",
		"huge": "---\na: " + strings.Repeat("x", maxFrontMatter) + "\n---\n", "deep": "---\na: " + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "\n---\n",
	} {
		if _, _, err := SplitFrontMatter(doc); !errors.Is(err, ErrFrontMatter) {
			t.Errorf("%s: %v; want ErrFrontMatter", name, err)
		}
	}
	if fm, body, err := SplitFrontMatter("---\n---"); err != nil || body != "" || fm.Has("x") {
		t.Errorf("%q %v; want no error, body to be \"\", not fm.Has(\"x\")", body, err)
	}
}

func TestReceivedSkillSaysWhereItCameFrom(t *testing.T) {
	r := Received{From: "ada: evil\n---", At: mmp.Stamp(vectorTime), OriginalHash: "h", Version: "1.0.0"}
	p := Provenance{Origin: "o", Chain: []string{"o", "ada"}, HopCount: 1}
	for name, doc := range map[string]string{
		"plain": "# Skill\n", "head": "---\nname: Tea\npublic: true\n_received: {received_from: me}\n---\n# Skill\n", "broken head": "---\nname: [\n---\n# Skill\n",
	} {
		got, err := AnnotateReceived(doc, r, p)
		if err != nil {
			t.Fatal(err)
		}
		fm, body, err := SplitFrontMatter(got)
		if err != nil || !strings.HasSuffix(body, "# Skill\n") || fm.True("public") || !fm.Has("_received") || !fm.Has("_provenance") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if name == "head" && fm.Text("name") != "Tea" {
			t.Errorf("lost the name:\n%s", got)
		}
		if strings.Contains(got, "received_from: me\n") {
			t.Error("believed the skill's own claim")
		}
	}
}
