package docs

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is one of them, rendered.
type page struct{ title, html string }

// section is what a search finds: a heading with what is below it.
type section struct {
	page, id, title, text string
	folded                string
}

// library is all pages.
type library struct {
	pages    map[string]page
	sections []section
}

func readLibrary(files fs.FS) (*library, error) {
	lib := &library{pages: map[string]page{}}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	sources := map[string][]byte{}
	err := fs.WalkDir(files, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := fs.ReadFile(files, name)
		if strings.HasSuffix(name, ".md") {
			sources[strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")] = source
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, source := range sources {
		if err := lib.add(md, name, source, sources); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.SortFunc(lib.sections, func(a, b section) int { return cmp.Or(strings.Compare(a.page, b.page), strings.Compare(a.id, b.id)) })
	lib.pages["index"] = lib.index()
	return lib, nil
}

// add renders a page, with links that lead to pages here, and keeps its sections.
func (lib *library) add(md goldmark.Markdown, name string, source []byte, all map[string][]byte) error {
	root := md.Parser().Parse(text.NewReader(source))
	title := name
	var at *section
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			words := plainText(n, source)
			if n.Level == 1 {
				title = words
			}
			id, _ := n.AttributeString("id")
			idText, _ := id.([]byte)
			lib.sections = append(lib.sections, section{page: name, id: string(idText), title: words})
			at = &lib.sections[len(lib.sections)-1]
		case *ast.Link:
			n.Destination = []byte(resolve(name, string(n.Destination), all))
		case *ast.Text:
			if at != nil {
				at.text += string(n.Segment.Value(source)) + " "
			}
		case *ast.FencedCodeBlock:
			if at != nil {
				at.text += string(n.Lines().Value(source)) + " "
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	for i := range lib.sections {
		if s := &lib.sections[i]; s.page == name {
			s.folded = strings.ToLower(s.title + " " + s.text)
		}
	}
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, source, root); err != nil {
		return err
	}
	lib.pages[name] = page{title: title, html: out.String()}
	return nil
}

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
		if t, ok := c.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// resolve makes a link between files one between pages. What is no page here leads to the list.
func resolve(from, link string, all map[string][]byte) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") || strings.HasPrefix(link, "mailto:") {
		return link
	}
	file, fragment, _ := strings.Cut(link, "#")
	target := strings.TrimSuffix(path.Join(path.Dir(from), file), ".md")
	if _, ok := all[target]; !ok {
		return "/docs/"
	}
	if fragment != "" {
		fragment = "#" + fragment
	}
	return "/docs/" + target + fragment
}

// index lists all pages: first those for users, then protocols and decisions.
func (lib *library) index() page {
	names := make([]string, 0, len(lib.pages))
	for name := range lib.pages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	var b strings.Builder
	b.WriteString("<h1>Documentation</h1>")
	group := "-"
	for _, name := range names {
		if dir := path.Dir(name); dir != group {
			if group != "-" {
				b.WriteString("</ul>")
			}
			group = dir
			if dir != "." {
				b.WriteString("<h2>" + html.EscapeString(strings.ToUpper(dir[:1])+dir[1:]) + "</h2>")
			}
			b.WriteString("<ul>")
		}
		b.WriteString(`<li><a href="/docs/` + html.EscapeString(name) + `">` + html.EscapeString(lib.pages[name].title) + "</a></li>")
	}
	b.WriteString(`</ul><p><a href="/docs/api">The API, operation by operation</a></p>`)
	return page{title: "Documentation", html: b.String()}
}
