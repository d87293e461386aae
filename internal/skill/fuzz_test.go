package skill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/scan"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

func FuzzReadResult(f *testing.F) {
	f.Add(`{"status":"received","action":"note","from":"ada","suggested_response":null,"text":"hi"}`)
	f.Add(`{"status":"error","action":"x","from":"","error_code":"unauthorized","suggested_response":{"id":"m"}}`)
	f.Fuzz(func(t *testing.T, stored string) {
		r, err := readResult(stored)
		if err != nil {
			return
		}
		raw, err := mmp.Encode(r)
		if err != nil {
			t.Fatalf("%q cannot be said again: %v", stored, err)
		}
		if again, err := readResult(string(raw)); err != nil || again.Status != r.Status || again.Action != r.Action || again.From != r.From {
			t.Fatalf("%q became %+v: %v", stored, again, err)
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add("# Hi <script>alert(1)</script>\n\n[x](javascript:alert(1)) <img src=x onerror=alert(1)>", "a\u200bb")
	f.Add("a\r\nb\n", "a\n\x1b[2Jb\n\u202e")
	f.Fuzz(func(t *testing.T, before, after string) {
		was, is := visible.Text(before), visible.Text(after)
		if diff := Diff(was, is); (diff == "") != (was == is) {
			t.Fatalf("%q and %q: %q", was, is, diff)
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add("bob, carl", "acknowledged")
	f.Add("*,,every agent", "")
	f.Fuzz(func(t *testing.T, first, second string) {
		item := Item{Agent: "bob", Findings: []scan.Finding{{Severity: scan.Danger}}}
		for _, answers := range [][]string{nil, {first}, {first, second}} {
			got := named(item, nil, answers)
			if len(got) == 0 || len(got) > 100 {
				t.Fatalf("%q: for nobody, or too many: %q", answers, got)
			}
			if acknowledged(item.Findings, answers) && !strings.EqualFold(strings.TrimSpace(first), Acknowledge) {
				t.Fatalf("%q acknowledges nothing", answers)
			}
		}
	})
}

func FuzzExtensionFile(f *testing.F) {
	f.Add("---\nname: org.example.tea\nversion: 1.0.0\ntype: mmp_extension\nactions: [pour]\nrequires: [core]\n---\nPour.\n")
	f.Add("---\nname: core\ntype: protocol_extension\nactions: [introduce]\n---\n")
	dir := f.TempDir()
	s, err := New(Deps{}, Config{Extensions: dir})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if err := os.WriteFile(filepath.Join(dir, "x.md"), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded := meeting.LoadExtensions(append(meeting.StandardExtensions(), s.definitions()...))
		for _, action := range meeting.CoreActions() {
			if loaded.Owner[action] != meeting.ExtensionCore {
				t.Fatalf("%q took %s from the core", doc, action)
			}
		}
		for _, d := range s.definitions() {
			if !meeting.ValidCustomName(d.Name) {
				t.Fatalf("%q is used as %q", doc, d.Name)
			}
		}
	})
}
