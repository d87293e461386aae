package tools

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/truepath"
)

// Bounds of the file tools.
const (
	maxRead    = 256 << 10
	maxEntries = 5000
	maxMatches = 1000
)

// opened opens a path and has the guard judge what was opened, so that nothing
// can be put in its place between the judgement and the reading.
func (s *Set) opened(c Call, path string) (*truepath.File, error) {
	if err := s.deps.Guard.CheckWay(c.ID, c.Tool.Name, path); err != nil {
		return nil, err
	}
	f, err := truepath.Open(path)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Guard.CheckFile(c.ID, c.Tool.Name, path, f.Final...); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

type readResult struct {
	Content   string `json:"content"`
	Truncated bool   `json:"truncated"`
}

// read gives the beginning of a regular file.
func (s *Set) read(_ context.Context, c Call) (any, error) {
	f, err := s.opened(c, c.Args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Info.IsDir() {
		return nil, badArgs("this is a folder; use fs_list")
	}
	r, err := f.Reader()
	if err != nil {
		if errors.Is(err, truepath.ErrKind) {
			return nil, badArgs("only regular files can be read, no devices, pipes or sockets")
		}
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxRead+1))
	if err != nil {
		return nil, err
	}
	cut := len(data) > maxRead
	return readResult{Content: command.Text(data[:min(len(data), maxRead)]), Truncated: cut}, nil
}

type entry struct {
	Name  string `json:"name"`
	IsDir bool   `json:"is_dir"`
	Bytes int64  `json:"bytes"`
}

type listResult struct {
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"`
}

// list gives what is in a folder.
func (s *Set) list(_ context.Context, c Call) (any, error) {
	f, err := s.opened(c, c.Args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, err := f.Folder()
	if err != nil {
		if errors.Is(err, truepath.ErrKind) {
			return nil, badArgs("this is not a folder; use fs_read")
		}
		return nil, err
	}
	defer dir.Close()
	found, err := dir.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	out := listResult{Entries: []entry{}, Truncated: len(found) > maxEntries}
	for _, e := range found[:min(len(found), maxEntries)] {
		out.Entries = append(out.Entries, describe(e))
	}
	slices.SortFunc(out.Entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// describe tells of an entry itself: a link is not followed.
func describe(e fs.DirEntry) entry {
	out := entry{Name: command.Text([]byte(e.Name())), IsDir: e.IsDir()}
	if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
		out.Bytes = info.Size()
	}
	return out
}

type searchResult struct {
	Matches   []string `json:"matches"`
	Truncated bool     `json:"truncated,omitempty"`
}

// search finds files by a part of their name.
func (s *Set) search(ctx context.Context, c Call) (any, error) {
	root, err := s.opened(c, c.Args.Text("root"))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if !root.Info.IsDir() {
		return nil, badArgs("this is not a folder")
	}
	w := &walk{set: s, volume: volumeOf(root), pattern: strings.ToLower(c.Args.Text("pattern")), out: searchResult{Matches: []string{}}}
	switch err := w.folder(ctx, root, root.Final[0]); {
	case errors.Is(err, context.DeadlineExceeded):
		w.out.Truncated = true // what was found in time is worth having
	case err != nil:
		return nil, err
	}
	return w.out, nil
}

// walk is one search. It follows no links, stays on one file system, and
// neither shows nor enters what reading would refuse.
type walk struct {
	set     *Set
	volume  string
	pattern string
	out     searchResult
}

// folder looks through one opened folder whose true path is at.
func (w *walk) folder(ctx context.Context, f *truepath.File, at string) error {
	dir, err := f.Folder()
	if err != nil {
		return nil //nolint:nilerr // what cannot be read is passed over
	}
	entries, err := readNames(ctx, dir)
	_ = dir.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.out.Truncated || ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.entry(ctx, e, at); err != nil {
			return err
		}
	}
	return nil
}

func readNames(ctx context.Context, dir *os.File) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some, err := dir.ReadDir(maxEntries)
		all = append(all, some...)
		if err != nil {
			break // the end, or a folder that cannot be read further
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// entry judges only what would be shown or entered: judging takes longer than
// looking, and most files are neither.
func (w *walk) entry(ctx context.Context, e fs.DirEntry, at string) error {
	if !e.IsDir() {
		w.match(e.Name(), at)
		return nil
	}
	path := join(at, e.Name())
	if w.set.deps.Guard.Refuses(path) {
		return nil
	}
	f, err := truepath.OpenHere(path)
	if err != nil {
		return nil //nolint:nilerr // what cannot be read is passed over
	}
	defer f.Close()
	// Another true path than expected: something was swapped meanwhile.
	if !f.Info.IsDir() || !slices.Contains(f.Final, path) || volumeOf(f) != w.volume || len(f.Final) > 1 && w.set.deps.Guard.Refuses(path, f.Final...) {
		return nil
	}
	return w.folder(ctx, f, path)
}

func (w *walk) match(name, at string) {
	if !strings.Contains(strings.ToLower(name), w.pattern) {
		return
	}
	path := join(at, name)
	if w.set.deps.Guard.Refuses(path) {
		return
	}
	if len(w.out.Matches) == maxMatches {
		w.out.Truncated = true
		return
	}
	w.out.Matches = append(w.out.Matches, command.Text([]byte(truepath.Plain(path))))
}

// join adds a name to a true path, which may be a root.
func join(dir, name string) string {
	return strings.TrimRight(dir, string(os.PathSeparator)) + string(os.PathSeparator) + name
}
