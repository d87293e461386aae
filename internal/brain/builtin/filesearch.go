package builtin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"parley.internal/internal/brain/tool"
)

// Limits of a search.
const (
	searchDefault = 200
	searchMax     = 1000
	searchLine    = 400 // bytes of a matching line that are shown
)

type searchArgs struct {
	Query string `json:"query"`
	Path  string `json:"path"`
	Glob  string `json:"glob"`
	Regex bool   `json:"regex"`
	Limit int    `json:"limit"`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type searchOutput struct {
	Matches   []match `json:"matches"`
	Truncated bool    `json:"truncated"`
}

func fileSearch(c Config) *tool.Tool {
	return &tool.Tool{
		Name:        "file_search",
		Description: "Find lines in the text files of the workspace. Folders named .git and binary files are passed over.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"query":{"type":"string","minLength":1,"maxLength":4096,"description":"text to find, or an RE2 expression with regex"},
			"path":{"type":"string","description":"folder to search, default: the workspace"},
			"glob":{"type":"string","description":"only files whose name matches, e.g. *.go"},
			"regex":{"type":"boolean"},
			"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"default 200"}},
			"required":["query"],"additionalProperties":false}`),
		Class:   tool.ReadOnly,
		Refuses: c.outside(false),
		Run: untrusted("file", inWorkspace(c, false, func(a searchArgs) string { return a.Path },
			func(ctx context.Context, root *os.Root, p place, a searchArgs) (any, error) {
				return search(ctx, root, p, a)
			})),
	}
}

func search(ctx context.Context, root *os.Root, p place, a searchArgs) (searchOutput, error) {
	s, err := newSearcher(a)
	if err != nil {
		return searchOutput{}, err
	}
	err = walk(ctx, root, p, func(rel string, d fs.DirEntry) error {
		switch ok, _ := path.Match(s.glob, path.Base(rel)); {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular() || !ok:
			return nil
		}
		f, _, err := openRegular(root, place{base: p.base, rel: path.Join(p.name(), rel)})
		if err != nil {
			return nil // gone or unreadable meanwhile
		}
		defer f.Close()
		return s.file(ctx, rel, f)
	})
	return s.out, err
}

type searcher struct {
	re    *regexp.Regexp
	glob  string
	limit int
	left  int // room in the result
	out   searchOutput
}

func newSearcher(a searchArgs) (*searcher, error) {
	s := &searcher{glob: a.Glob, limit: searchDefault, left: room, out: searchOutput{Matches: []match{}}}
	if s.glob == "" {
		s.glob = "*"
	}
	if _, err := path.Match(s.glob, ""); err != nil {
		return nil, tool.Errorf(tool.Validation, "glob %q is not a pattern", a.Glob)
	}
	if a.Limit > 0 {
		s.limit = min(a.Limit, searchMax)
	}
	query := a.Query
	if !a.Regex {
		query = regexp.QuoteMeta(query)
	}
	re, err := regexp.Compile(query)
	if err != nil {
		return nil, tool.Errorf(tool.Validation, "query is not a regular expression: %v", err)
	}
	s.re = re
	return s, nil
}

func (s *searcher) file(ctx context.Context, rel string, f io.Reader) error {
	r := bufio.NewReaderSize(io.LimitReader(f, maxFile), 64<<10)
	if begin, _ := r.Peek(8 << 10); !isText(begin) {
		return nil
	}
	for n := 1; ; n++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if s.re.Match(line) && !s.add(match{Path: rel, Line: n, Text: clipLine(line)}) {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// readLine reads a line of any length up to the file limit, without its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	return bytes.TrimRight(line, "\r\n"), endless(line, err)
}

// endless hides the end of the file behind a last line that has no newline.
func endless(line []byte, err error) error {
	if len(line) > 0 && errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (s *searcher) add(m match) bool {
	s.left -= size(m.Path) + size(m.Text) + 40
	if s.left < 0 || len(s.out.Matches) >= s.limit {
		s.out.Truncated = true
		return false
	}
	s.out.Matches = append(s.out.Matches, m)
	return true
}

func clipLine(line []byte) string {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if len(text) <= searchLine {
		return text
	}
	return head(text, searchLine) + "…"
}
