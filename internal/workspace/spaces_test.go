package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/workspace"
)

func newSpaces(t *testing.T) (*workspace.Spaces, string) {
	t.Helper()
	data := t.TempDir()
	return workspace.New(workspace.Options{Data: data, Owner: "0"}), data
}

func TestNoTwoPeopleHaveTheSameFolder(t *testing.T) {
	s, data := newSpaces(t)
	seen := map[string]workspace.Whose{}
	for _, whose := range []workspace.Whose{
		workspace.Person("0"), workspace.Person("1"), workspace.Person("../1"), workspace.Person(".."), workspace.Person(""), workspace.Person("a/b"),
		workspace.Sender("1"), workspace.Sender("tg:1"), workspace.Sender("../person-1"), workspace.Sender(""),
	} {
		dir := s.Dir(whose, "")
		if other, taken := seen[dir]; taken {
			t.Errorf("%v and %v both work in %s", whose, other, dir)
		}
		for _, other := range seen {
			if strings.HasPrefix(s.Dir(other, "")+"/", dir+"/") || strings.HasPrefix(dir+"/", s.Dir(other, "")+"/") {
				t.Errorf("the folder of %v and that of %v lie in each other", whose, other)
			}
		}
		seen[dir] = whose
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of %v: %v, %v; expected one for nobody else", whose, info, err)
		}
	}
	if got := s.Dir(workspace.Person("0"), ""); got != filepath.Join(data, "workspace") {
		t.Errorf("the owner works in %s; expected the folder that has always been there", got)
	}
}

func TestALinkInPlaceOfAFolderIsNobodys(t *testing.T) {
	s, data := newSpaces(t)
	if err := os.MkdirAll(s.Others(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(data, filepath.Join(s.Others(), "person-1")); err != nil {
		t.Fatal(err)
	}
	if dir := s.Dir(workspace.Person("1"), ""); dir != "" {
		t.Errorf("somebody was given %s, which is a link to the data folder", dir)
	}
}

// A folder of an agent's file is for everybody who may use the agent: the hub's own files and
// the folders of other people are not to be had that way.
func TestAnAgentsOwnFolderIsNeverTheHubsNorSomebodyElses(t *testing.T) {
	s, data := newSpaces(t)
	elsewhere := t.TempDir()
	link := filepath.Join(elsewhere, "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	owner, alice := workspace.Person("0"), workspace.Person("1")
	hers := s.Dir(alice, "")
	for _, c := range []struct {
		whose workspace.Whose
		named string
		ok    bool
	}{
		{alice, elsewhere, true},
		{owner, elsewhere, true},
		{alice, filepath.Join(elsewhere, "new"), true},
		{alice, filepath.Join(hers, "garden"), true},
		{owner, filepath.Join(data, "workspace", "garden"), true},
		{owner, hers, false},
		{alice, filepath.Join(data, "workspace"), false},
		{alice, s.Others(), false},
		{workspace.Person("2"), hers, false},
		{owner, data, false},
		{owner, filepath.Join(data, "keys"), false},
		{owner, link, false},
		{owner, filepath.Join(link, "keys"), false},
		{owner, filepath.Dir(data), false},
		{owner, "/", false},
		{alice, hers + "/../person-2", false},
	} {
		if got := s.Dir(c.whose, c.named); (got == c.named) != c.ok || !c.ok && got != "" {
			t.Errorf("%v with an agent that names %s works in %q; allowed: %v", c.whose, c.named, got, c.ok)
		}
	}
}
