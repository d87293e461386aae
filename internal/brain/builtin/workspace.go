package builtin

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/workspace"
)

// place is a path inside a folder a call may use.
type place struct {
	base string // the folder
	rel  string // the path below it, "." for the folder itself
	// of is set for a folder that somebody else shared.
	of *workspace.Folder
}

// locate finds the folder a path lies in, also among those that others shared with the
// person the agent acts for.
func (c Config) locate(ctx context.Context, call tool.Call, path string, changes bool) (place, error) {
	p, err := locate(call, c.Roots, path)
	if err == nil || call.Workspace == "" || c.Granted == nil || !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return p, err
	}
	folders, failed := c.Granted(ctx, call.Actor)
	if failed != nil {
		return place{}, failed
	}
	for _, f := range folders {
		rel, outside := filepath.Rel(f.Path, path)
		switch {
		case outside != nil || !filepath.IsLocal(rel):
		case changes && f.ReadOnly:
			return place{}, tool.Errorf(tool.Permission, "the folder was shared for reading only")
		default:
			return place{base: f.Path, rel: rel, of: &f}, nil
		}
	}
	return p, err
}

// outside refuses a path in none of these folders before anybody is asked about it.
func (c Config) outside(changes bool) func(context.Context, tool.Call) error {
	return func(ctx context.Context, call tool.Call) error {
		args, err := tool.Arguments[struct{ Path, Cwd string }](call)
		if err == nil {
			_, err = c.locate(ctx, call, cmp.Or(args.Path, args.Cwd), changes)
		}
		return err
	}
}

// locate finds the allowed folder a path lies in, by its spelling. Where links
// lead is checked later, by os.Root, when the path is used.
func locate(call tool.Call, roots []string, path string) (place, error) {
	if call.Workspace == "" {
		return place{}, tool.Errorf(tool.Permission, "this run has no workspace")
	}
	if strings.ContainsRune(path, 0) {
		return place{}, tool.Errorf(tool.Validation, "a path cannot contain a zero byte")
	}
	if !filepath.IsAbs(path) {
		dir := call.Dir
		if dir == "" {
			dir = call.Workspace
		} else if !filepath.IsAbs(dir) {
			dir = filepath.Join(call.Workspace, dir)
		}
		path = filepath.Join(dir, path)
	}
	for _, base := range append([]string{call.Workspace}, roots...) {
		for _, b := range spellings(base) {
			if rel, err := filepath.Rel(b, path); err == nil && filepath.IsLocal(rel) {
				return place{base: base, rel: rel}, nil
			}
		}
	}
	return place{}, outside()
}

// spellings are a folder as configured and with its own links resolved.
func spellings(base string) []string {
	out := []string{base}
	if real, err := filepath.EvalSymlinks(base); err == nil && !slices.Contains(out, real) {
		out = append(out, real)
	}
	return out
}

func outside() error {
	return tool.Errorf(tool.Permission, "the path is outside the workspace; use a path inside it")
}

// root opens the folder; nothing done through it can leave it.
func (p place) root() (*os.Root, error) {
	if p.of != nil {
		root, err := p.of.Open()
		if err != nil {
			return nil, outside()
		}
		return root, nil
	}
	if err := os.MkdirAll(p.base, 0o700); err != nil {
		return nil, tool.Errorf(tool.Unknown, "the workspace cannot be used")
	}
	root, err := os.OpenRoot(p.base)
	if err != nil {
		return nil, tool.Errorf(tool.Unknown, "the workspace cannot be used")
	}
	return root, nil
}

// folder is the real path of a folder to run in, links resolved and still inside.
func (p place) folder() (string, error) {
	root, err := p.root()
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(p.rel)
	if err != nil {
		return "", explain(err, p.name())
	}
	if !info.IsDir() {
		return "", tool.Errorf(tool.Validation, "%s is not a folder", p.name())
	}
	real, err := filepath.EvalSymlinks(filepath.Join(p.base, p.rel))
	if err != nil {
		return "", explain(err, p.name())
	}
	base, err := filepath.EvalSymlinks(p.base)
	if err != nil {
		return "", outside()
	}
	if rel, err := filepath.Rel(base, real); err != nil || !filepath.IsLocal(rel) {
		return "", outside()
	}
	return real, nil
}

// name is the path as the model may see it.
func (p place) name() string { return filepath.ToSlash(p.rel) }

// explain turns a failure of the file system into words without a path outside
// the workspace.
func explain(err error, name string) error {
	var e *tool.Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.NotFound, "there is no %s in the workspace", name)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.Permission, "%s may not be opened", name)
	case strings.Contains(err.Error(), "escapes"): // os.Root has no sentinel for it
		return outside()
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return tool.Errorf(tool.Unknown, "%s: %v", name, err)
}
