package skillfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Load reads every skill below dir, sorted by name. Broken ones have Err set. A
// folder that does not exist holds no skills.
func Load(dir string) ([]Skill, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	found := map[string]Skill{}
	for _, e := range entries {
		if len(found) == MaxSkills {
			break
		}
		if s, ok := load(root, e); ok {
			if old, taken := found[s.Name]; taken && old.folder() {
				continue // the folder is the richer of the two
			}
			found[s.Name] = s
		}
	}
	out := slices.Collect(maps.Values(found))
	slices.SortFunc(out, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (s Skill) folder() bool { return strings.Contains(s.File, "/") }

// load reads one entry of the skills folder; ok is false when it is no skill.
func load(root *os.Root, e fs.DirEntry) (s Skill, ok bool) {
	if strings.HasPrefix(e.Name(), ".") {
		return Skill{}, false
	}
	name, file := e.Name(), path.Join(e.Name(), "SKILL.md")
	if base, md := strings.CutSuffix(e.Name(), ".md"); md {
		name, file = base, e.Name()
	} else if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
		return Skill{}, false
	}
	data, err := read(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return Skill{}, false
	}
	if err == nil {
		s, err = Parse(name, data)
	}
	s.Name, s.File, s.Err = name, file, err
	return s, true
}

// read takes a regular file in; the root refuses links that lead outside.
func read(root *os.Root, file string) ([]byte, error) {
	info, err := root.Stat(file) // before opening: a named pipe would hold us up
	if err != nil {
		return nil, reason(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file", ErrRead)
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, reason(err)
	}
	return data, nil
}

// reason drops paths from an error and keeps "does not exist" recognisable.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRead, err)
}
