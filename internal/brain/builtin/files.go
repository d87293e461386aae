package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/internal/brain/tool"
)

// maxFile bounds what is read or written in one call.
const maxFile = 10 << 20

func fileTools(c Config) []*tool.Tool {
	return []*tool.Tool{fileRead(c), fileList(c), fileSearch(c), fileWrite(c), fileEdit(c)}
}

// inWorkspace wraps a file tool: it decodes the arguments, opens the folder the
// path lies in, and explains what goes wrong.
func inWorkspace[A any](c Config, changes bool, path func(A) string, run func(ctx context.Context, root *os.Root, p place, args A) (any, error)) func(context.Context, tool.Call) (tool.Result, error) {
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		args, err := tool.Arguments[A](call)
		if err != nil {
			return tool.Result{}, err
		}
		p, err := c.locate(ctx, call, path(args), changes)
		if err != nil {
			return tool.Result{}, err
		}
		root, err := p.root()
		if err != nil {
			return tool.Result{}, err
		}
		defer root.Close()
		out, err := run(ctx, root, p, args)
		if err != nil {
			return tool.Result{}, explain(err, p.name())
		}
		return tool.Result{Text: success(out)}, nil
	}
}

// untrusted marks what a tool returns as the words of strangers.
func untrusted(source string, run func(context.Context, tool.Call) (tool.Result, error)) func(context.Context, tool.Call) (tool.Result, error) {
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		res, err := run(ctx, call)
		res.Untrusted, res.Source = true, source
		return res, err
	}
}

// openRegular opens a file for reading; pipes, devices and folders are refused.
func openRegular(root *os.Root, p place) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(p.rel, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = tool.Errorf(tool.Validation, "%s is not a regular file", p.name())
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// isText guesses by the beginning, as everybody does.
func isText(begin []byte) bool {
	return !strings.ContainsRune(string(begin[:min(len(begin), 8<<10)]), 0)
}

type readArgs struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

type readOutput struct {
	Content    string `json:"content"`
	Size       int64  `json:"size"`
	Truncated  bool   `json:"truncated"`
	NextOffset int64  `json:"next_offset,omitempty"`
}

func fileRead(c Config) *tool.Tool {
	return &tool.Tool{
		Name:        "file_read",
		Description: "Read a text file of the workspace. Long files come in pieces: when truncated is true, go on at next_offset.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"path":{"type":"string","minLength":1},
			"offset":{"type":"integer","minimum":0,"description":"first byte to read, default 0"},
			"limit":{"type":"integer","minimum":1,"description":"bytes to read, at most what fits"}},
			"required":["path"],"additionalProperties":false}`),
		Class:   tool.ReadOnly,
		Refuses: c.outside(false),
		Run: untrusted("file", inWorkspace(c, false, func(a readArgs) string { return a.Path },
			func(_ context.Context, root *os.Root, p place, a readArgs) (any, error) { return readFile(root, p, a) })),
	}
}

func readFile(root *os.Root, p place, a readArgs) (readOutput, error) {
	f, info, err := openRegular(root, p)
	if err != nil {
		return readOutput{}, err
	}
	defer f.Close()
	limit := int64(room)
	if a.Limit > 0 {
		limit = min(limit, a.Limit)
	}
	buf := make([]byte, min(limit, max(info.Size()-a.Offset, 0)+1))
	n, err := f.ReadAt(buf, max(a.Offset, 0))
	if err != nil && !errors.Is(err, io.EOF) {
		return readOutput{}, err
	}
	buf = buf[:n]
	if !isText(buf) {
		return readOutput{}, tool.Errorf(tool.Validation, "%s is not a text file (%d bytes)", p.name(), info.Size())
	}
	end := a.Offset + int64(n)
	if end < info.Size() {
		buf = wholeRunes(buf)
	}
	raw := string(buf)
	content := head(strings.ToValidUTF8(raw, "\uFFFD"), room)
	out := readOutput{Content: content, Size: info.Size()}
	used := int64(consumed(raw, content))
	if next := a.Offset + used; next < info.Size() && used > 0 {
		out.Truncated, out.NextOffset = true, next
	}
	return out, nil
}

// wholeRunes drops a character that a piece's end cuts in two.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i < len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// consumed is how many bytes of raw became content, which has each run of bad
// bytes replaced by one mark.
func consumed(raw, content string) int {
	if strings.HasPrefix(raw, content) {
		return len(content)
	}
	lo, hi := 0, len(raw)
	for lo < hi { // the longest beginning of raw that yields no more than content
		mid := (lo + hi + 1) / 2
		if len(strings.ToValidUTF8(raw[:mid], "\uFFFD")) <= len(content) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

type listArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
}

type entry struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

type listOutput struct {
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated"`
}

func fileList(c Config) *tool.Tool {
	return &tool.Tool{
		Name:        "file_list",
		Description: "List a folder of the workspace; recursive lists what is below it too, with paths relative to it. Links are shown, not followed.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"path":{"type":"string","description":"default: the workspace"},
			"recursive":{"type":"boolean"}},"additionalProperties":false}`),
		Class:   tool.ReadOnly,
		Refuses: c.outside(false),
		Run: untrusted("file", inWorkspace(c, false, func(a listArgs) string { return a.Path },
			func(ctx context.Context, root *os.Root, p place, a listArgs) (any, error) {
				return listFolder(ctx, root, p, a.Recursive)
			})),
	}
}

func listFolder(ctx context.Context, root *os.Root, p place, recursive bool) (listOutput, error) {
	out := listOutput{Entries: []entry{}}
	left := room
	err := walk(ctx, root, p, func(rel string, d fs.DirEntry) error {
		e := describe(rel, d)
		if left -= size(e.Name) + 100; left < 0 { // the other members are short
			out.Truncated = true
			return fs.SkipAll
		}
		out.Entries = append(out.Entries, e)
		if d.IsDir() && !recursive {
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

// walk visits everything below a folder, in order; rel is relative to it. What
// cannot be opened on the way is passed over.
func walk(ctx context.Context, root *os.Root, p place, visit func(rel string, d fs.DirEntry) error) error {
	info, err := root.Stat(p.rel)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return tool.Errorf(tool.Validation, "%s is not a folder", p.name())
	}
	sub, err := root.OpenRoot(p.rel)
	if err != nil {
		return err
	}
	defer sub.Close()
	return fs.WalkDir(sub.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && rel == ".":
			return err
		case err != nil:
			return nil
		case rel == ".":
			return nil
		}
		return visit(rel, d)
	})
}

func describe(rel string, d fs.DirEntry) entry {
	e := entry{Name: strings.ToValidUTF8(rel, "\uFFFD"), Type: "other"}
	switch {
	case d.Type().IsRegular():
		e.Type = "file"
	case d.IsDir():
		e.Type = "dir"
	case d.Type()&fs.ModeSymlink != 0:
		e.Type = "symlink"
	}
	if info, err := d.Info(); err == nil {
		e.Size, e.Modified = info.Size(), info.ModTime().UTC().Format(time.RFC3339)
	}
	return e
}
