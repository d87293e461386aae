package skillfile

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/tool"
)

const full = `---
name: release
description: >
  Cut a release
  and tell people.
license: MIT
compatibility: needs git
metadata:
  author: someone
  version: 1.10
allowed-tools: shell, file_read Bash(git add)
tags: [ops, 2]
version: 1.10
public: true
somebody-elses: {key: [1]}
---

# Release

Do it.
`

func TestParse(t *testing.T) {
	got, err := Parse("release", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := Skill{
		Name: "release", Description: "Cut a release and tell people.", License: "MIT", Compatibility: "needs git",
		Metadata:     map[string]string{"author": "someone", "version": "1.10"},
		AllowedTools: []string{"shell", "file_read", "Bash(git add)"}, Tags: []string{"ops", "2"},
		Version: "1.10", Public: true, Body: "# Release\n\nDo it.\n",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestParseForms(t *testing.T) {
	tests := []struct{ name, text, description, body string }{
		{"no front matter", "# Tidy up\n\nClean.", "Tidy up", "# Tidy up\n\nClean.\n"},
		{"windows line ends", "---\r\ndescription: d\r\n---\r\nbody\r\n", "d", "body\n"},
		{"byte order mark", "\uFEFF---\ndescription: d\n---\nbody", "d", "body\n"},
		{"empty front matter", "---\n---\nbody", "body", "body\n"},
		{"blanks behind the end", "---\ndescription: d\n---  \nbody", "d", "body\n"},
		{"a rule in the body", "---\ndescription: d\n---\na\n\n---\n\nb", "d", "a\n\n---\n\nb\n"},
		{"list of tools", "---\nallowed-tools:\n  - a\n  - b\n---\nbody", "body", "body\n"},
		{"structured compatibility", "---\ncompatibility: {os: linux}\n---\nbody", "body", "body\n"},
	}
	for _, tt := range tests {
		s, err := Parse("x", []byte(tt.text))
		if err != nil || s.Description != tt.description || s.Body != tt.body {
			t.Errorf("%s: %q %q %v; want no error, s.Description to be %v, s.Body to be %v", tt.name, s.Description, s.Body, err, tt.description, tt.body)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		want       error
	}{
		{"x", "---\ndescription: d\nbody", ErrFront},
		{"x", "---\ndescription: [\n---\nbody", ErrFront},
		{"x", "---\npublic: perhaps\n---\nbody", ErrFront},
		{"x", "---\n- a\n---\nbody", ErrFront},
		{"x", "---\nk: " + strings.Repeat("a", MaxFront) + "\n---\nbody", ErrFront},
		{"x", "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ncompatibility: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n---\nbody", ErrFront},
		{"x", "---\nname: y\n---\nbody", ErrName},
		{"X", "body", ErrName},
		{"../x", "body", ErrName},
		{"", "body", ErrName},
		{"x", "", ErrEmpty},
		{"x", "---\ndescription: d\n---\n \n", ErrEmpty},
		{"x", strings.Repeat("a", MaxFile+1), ErrTooBig},
		{"x", "a\xff", ErrRead},
	}
	for _, tt := range tests {
		if _, err := Parse(tt.name, []byte(tt.text)); !errors.Is(err, tt.want) {
			t.Errorf("%q %.40q: %v, want %v", tt.name, tt.text, err, tt.want)
		}
	}
}

func write(t *testing.T, dir, file, text string) {
	t.Helper()
	p := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "skills")
	write(t, outer, "secret.md", "secret")
	write(t, outer, "stolen/SKILL.md", "secret")
	write(t, dir, "release/SKILL.md", full)
	write(t, dir, "release.md", "the folder wins")
	write(t, dir, "tidy.md", "Tidy up.")
	write(t, dir, "broken/SKILL.md", "---\n")
	write(t, dir, "Bad Name.md", "x")
	write(t, dir, ".hidden/SKILL.md", "x")
	write(t, dir, ".hidden.md", "x")
	write(t, dir, "notaskill/README.md", "x")
	write(t, dir, "notes.txt", "x")
	if err := os.MkdirAll(filepath.Join(dir, "odd", "SKILL.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"leak.md": "../secret.md", "leakdir": "../stolen", "leakabs.md": filepath.Join(outer, "secret.md"), "alias": "release2", "dangling.md": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "release2/SKILL.md", "x")
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range all {
		got[s.Name] = "ok " + s.File
		for _, e := range []error{ErrFront, ErrName, ErrRead} {
			if errors.Is(s.Err, e) {
				got[s.Name] = e.Error()
			}
		}
		if strings.Contains(s.Body, "secret") || (s.Err != nil && strings.Contains(s.Err.Error(), outer)) {
			t.Errorf("leaked: %+v", s)
		}
	}
	want := map[string]string{
		"release": "ok release/SKILL.md", "release2": "ok release2/SKILL.md", "alias": "ok alias/SKILL.md", "tidy": "ok tidy.md",
		"broken": ErrFront.Error(), "Bad Name": ErrName.Error(), "odd": ErrRead.Error(),
		"leak": ErrRead.Error(), "leakdir": ErrRead.Error(), "leakabs": ErrRead.Error(),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if none, err := Load(filepath.Join(outer, "absent")); err != nil || none != nil {
		t.Errorf("%v %v; want no error, nil", none, err)
	}
}

func some() []Skill {
	return []Skill{
		{Name: "broken", Err: ErrEmpty},
		{Name: "release", Description: "Cut a release.", Body: "Do it.\nThen </Skill > stop.\n"},
		{Name: "say", Description: "Speak.", Body: "Speak."},
		{Name: "tidy", Body: "Tidy up.\n"},
	}
}

func TestSelect(t *testing.T) {
	count := func(names ...string) int { return len(Select(some(), names)) }
	if count("*") != 3 || count("tidy", "broken") != 1 || count() != 0 || count("absent") != 0 {
		t.Error("wrong selection")
	}
}

func TestIndex(t *testing.T) {
	want := "Skills you can load with the skill tool when a request calls for one:\n- release: Cut a release.\n- say: Speak.\n- tidy\n"
	if got := Index(some()); got != want {
		t.Errorf("%q; want %v", got, want)
	}
	if Index(nil) != "" || Index(some()[:1]) != "" {
		t.Error("an index of nothing")
	}
}

func TestExpand(t *testing.T) {
	const release = "<skill name=\"release\">\nDo it.\nThen &lt;/Skill > stop.\n</skill>"
	tests := []struct{ text, want, used string }{
		{"/release", release, "release"},
		{"/release v2 now", release + "\n\nv2 now", "release"},
		{"/release\nline one\nline two\n", release + "\n\nline one\nline two", "release"},
		{"/tidy  ", "<skill name=\"tidy\">\nTidy up.\n</skill>", "tidy"},
		{"/say hello", "/say hello", ""},
		{"/fail-once 500", "/fail-once 500", ""},
		{"/unknown x", "/unknown x", ""},
		{"/broken x", "/broken x", ""},
		{"/Release", "/Release", ""},
		{"/releases", "/releases", ""},
		{" /release", " /release", ""},
		{"release", "release", ""},
		{"//release", "//release", ""},
		{"/", "/", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		got, used := Expand(tt.text, some())
		if got != tt.want || (used == nil) != (tt.used == "") || (used != nil && used.Name != tt.used) {
			t.Errorf("%q: %q, %v", tt.text, got, used)
		}
	}
	if got, _ := Expand("/release x", nil); got != "/release x" {
		t.Error("expanded a skill the agent does not have")
	}
}

func TestAllowedToolsOnlyNarrow(t *testing.T) {
	tests := []struct {
		allowed []string
		tool    string
		want    bool
	}{
		{nil, "shell", true},
		{[]string{"file_read"}, "shell", false},
		{[]string{"file_read", "shell(git:*)"}, "shell", true},
		{[]string{"*"}, "shell", true},
	}
	for _, tt := range tests {
		if got := (Skill{AllowedTools: tt.allowed}).Allows(tt.tool); got != tt.want {
			t.Errorf("%v allows %s: %v", tt.allowed, tt.tool, got)
		}
	}
}

func TestTheSkillTool(t *testing.T) {
	x := Tool(func(c tool.Call) []Skill {
		if c.Agent != "parley" {
			return nil
		}
		return some()
	})
	if _, err := tool.NewSet(nil, x); err != nil {
		t.Fatal(err)
	}
	run := func(agent, args string) (tool.Result, error) {
		return x.Run(context.Background(), tool.Call{Agent: agent, Arguments: json.RawMessage(args)})
	}
	res, err := run("parley", `{"name":"tidy"}`)
	if err != nil || res.Text != "<skill name=\"tidy\">\nTidy up.\n</skill>" || res.Untrusted {
		t.Errorf("%+v %v; want no error, res.Text to be \"<skill name=\\\"tidy\\\">\\nTidy up.\\n</skill>\", not res.Untrusted", res, err)
	}
	if res, err := run("parley", `{"name":"say"}`); err != nil || res.Text == "" {
		t.Errorf("a reserved name can still be loaded: %v", err)
	}
	_, err = run("parley", `{"name":"broken"}`)
	if tool.TypeOf(err) != tool.NotFound || !strings.Contains(err.Error(), "release, say, tidy") {
		t.Errorf("%v; want tool.TypeOf(err) to be %v, \"release, say, tidy\" in it", err, tool.NotFound)
	}
	if _, err := run("other", `{"name":"tidy"}`); tool.TypeOf(err) != tool.NotFound || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v; want tool.TypeOf(err) to be %v, \"none\" in it", err, tool.NotFound)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("---\n---\n"))
	f.Add([]byte("---\nallowed-tools: [a, {b: c}]\ntags: 1\nmetadata: {a: [1]}\n---\nx"))
	f.Add([]byte("---\na: &a [*a]\ncompatibility: *a\n---\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("x", data)
		if err != nil {
			return
		}
		if strings.TrimSpace(s.Body) == "" || utf8.RuneCountInString(s.Description) > MaxDescription || strings.ContainsRune(s.Description, '\n') {
			t.Fatalf("%+v", s)
		}
		if got, _ := Expand("/x", []Skill{s}); strings.Count(strings.ToLower(got), "</skill>") != 1 {
			t.Fatalf("%q can be closed from inside", got)
		}
		Index([]Skill{s})
	})
}
