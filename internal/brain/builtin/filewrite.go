package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"parley.internal/internal/brain/tool"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Append  bool   `json:"append"`
}

type writeOutput struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

func fileWrite(c Config) *tool.Tool {
	return &tool.Tool{
		Name:        "file_write",
		Description: "Write a file of the workspace, replacing it or, with append, adding to its end. Missing folders are made.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"path":{"type":"string","minLength":1},
			"content":{"type":"string"},
			"append":{"type":"boolean"}},
			"required":["path","content"],"additionalProperties":false}`),
		Class:   tool.Mutating,
		Refuses: c.outside(true),
		Run: inWorkspace(c, true, func(a writeArgs) string { return a.Path },
			func(_ context.Context, root *os.Root, p place, a writeArgs) (any, error) {
				if err := writeFile(root, p, a); err != nil {
					return nil, err
				}
				return writeOutput{Path: p.name(), Bytes: len(a.Content)}, nil
			}),
	}
}

func writeFile(root *os.Root, p place, a writeArgs) error {
	if len(a.Content) > maxFile {
		return tool.Errorf(tool.Validation, "the content is larger than %d bytes; write it in pieces with append", maxFile)
	}
	if err := root.MkdirAll(filepath.Dir(p.rel), 0o755); err != nil {
		return err
	}
	if a.Append {
		return appendFile(root, p, a.Content)
	}
	return replaceFile(root, p, a.Content)
}

func appendFile(root *os.Root, p place, content string) (err error) {
	f, err := root.OpenFile(p.rel, os.O_WRONLY|os.O_CREATE|os.O_APPEND|openNonblock, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return tool.Errorf(tool.Validation, "%s is not a regular file", p.name())
	}
	_, err = io.WriteString(f, content)
	return err
}

// replaceFile puts the new content in place in one step, so that no reader and
// no crash ever sees half of it. A link keeps pointing where it did.
func replaceFile(root *os.Root, p place, content string) error {
	mode := fs.FileMode(0o644)
	info, err := root.Lstat(p.rel)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return root.WriteFile(p.rel, []byte(content), mode)
	case err == nil && !info.Mode().IsRegular():
		return tool.Errorf(tool.Validation, "%s is not a regular file", p.name())
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	temp := filepath.Join(filepath.Dir(p.rel), ".parley-"+uuid.NewString())
	if err := root.WriteFile(temp, []byte(content), mode); err != nil {
		return err
	}
	if err := root.Rename(temp, p.rel); err != nil {
		_ = root.Remove(temp)
		return err
	}
	return nil
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

type editOutput struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Bytes        int    `json:"bytes"`
}

func fileEdit(c Config) *tool.Tool {
	return &tool.Tool{
		Name:        "file_edit",
		Description: "Replace a piece of text in a file of the workspace. old must occur exactly once, unless all is true.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"path":{"type":"string","minLength":1},
			"old":{"type":"string","minLength":1,"description":"the text as it stands in the file, white space included"},
			"new":{"type":"string"},
			"all":{"type":"boolean","description":"replace every occurrence"}},
			"required":["path","old","new"],"additionalProperties":false}`),
		Class:   tool.Mutating,
		Refuses: c.outside(true),
		Run: inWorkspace(c, true, func(a editArgs) string { return a.Path },
			func(_ context.Context, root *os.Root, p place, a editArgs) (any, error) { return editFile(root, p, a) }),
	}
}

func editFile(root *os.Root, p place, a editArgs) (editOutput, error) {
	text, err := readAll(root, p)
	if err != nil {
		return editOutput{}, err
	}
	if a.Old == "" {
		return editOutput{}, tool.Errorf(tool.Validation, "old is empty")
	}
	n := strings.Count(text, a.Old)
	switch {
	case n == 0:
		return editOutput{}, tool.Errorf(tool.NotFound, "old does not occur in %s; read the file again and copy the text exactly", p.name())
	case n > 1 && !a.All:
		return editOutput{}, tool.Errorf(tool.Validation, "old occurs %d times in %s; give more of the text around it, or set all", n, p.name())
	}
	text = strings.ReplaceAll(text, a.Old, a.New)
	if err := writeFile(root, p, writeArgs{Content: text}); err != nil {
		return editOutput{}, err
	}
	return editOutput{Path: p.name(), Replacements: n, Bytes: len(text)}, nil
}

func readAll(root *os.Root, p place) (string, error) {
	f, info, err := openRegular(root, p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > maxFile {
		return "", tool.Errorf(tool.Validation, "%s is larger than %d bytes", p.name(), maxFile)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	return string(raw), nil
}
