package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/internal/sandbox"
)

// shared is the folder of a grant, if it is there and no link is on the way to it: one that
// somebody puts there later leads nowhere.
func (s *Spaces) shared(g Grant) (Folder, error) {
	home, err := s.home(Person(g.Owner))
	if err != nil {
		return Folder{}, err
	}
	f := Folder{Home: sandbox.Resolved(home), Rel: filepath.FromSlash(g.Folder), ReadOnly: g.ReadOnly}
	root, err := f.Open()
	if err != nil {
		return Folder{}, err
	}
	_ = root.Close()
	f.Path = filepath.Join(f.Home, f.Rel)
	return f, nil
}

// Open opens the folder, step by step from its owner's own, so that no link leads out of
// what was shared, whoever puts one there and when.
func (f Folder) Open() (*os.Root, error) {
	if !filepath.IsLocal(f.Rel) {
		return nil, fmt.Errorf("%w: %s is no path in a folder", ErrBadGrant, f.Rel)
	}
	root, err := os.OpenRoot(f.Home)
	if err != nil || f.Rel == "." {
		return root, err
	}
	for name := range strings.SplitSeq(f.Rel, string(filepath.Separator)) {
		next, err := step(root, name)
		_ = root.Close()
		if err != nil {
			return nil, err
		}
		root = next
	}
	return root, nil
}

// step opens a folder in another, which must be a folder itself and not a link to one.
func step(root *os.Root, name string) (*os.Root, error) {
	before, err := root.Lstat(name)
	if err != nil || !before.IsDir() {
		return nil, fmt.Errorf("%w: there is no folder %s", ErrBadGrant, name)
	}
	next, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		_ = next.Close()
		return nil, fmt.Errorf("%w: %s became another folder", ErrBadGrant, name)
	}
	return next, nil
}

// Share puts folders of other people into the box of a program.
func Share(p *sandbox.Program, folders []Folder) {
	for _, f := range folders {
		if f.ReadOnly {
			p.SharedRead = append(p.SharedRead, f.Path)
		} else {
			p.Shared = append(p.Shared, f.Path)
		}
	}
}
