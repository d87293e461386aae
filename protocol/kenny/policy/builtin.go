package policy

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"parley.internal/protocol/kenny"
)

//go:embed catalogue/*.yaml
var catalogueFiles embed.FS

// entry is one rule of a catalogue file, with its examples.
type entry struct {
	ID         string   `yaml:"id"`
	For        string   `yaml:"for"`
	Reason     string   `yaml:"reason"`
	Pattern    string   `yaml:"pattern"`
	KeepQuotes bool     `yaml:"keep_quotes"`
	Blocks     []string `yaml:"blocks"`
	Passes     []string `yaml:"passes"`

	class string
}

// Builtin gives the rules that come with the program. They are compiled once:
// a Set never changes.
func Builtin() *Set { return builtin() }

// builtin compiles the catalogue. The files are part of the binary and tested
// with it: a broken one is a bug, so it panics.
var builtin = sync.OnceValue(func() *Set {
	entries, err := readCatalogue(catalogueFiles)
	if err != nil {
		panic("policy: built-in catalogue: " + err.Error())
	}
	s := &Set{}
	for _, e := range entries {
		s.builtin = append(s.builtin, e.compile())
	}
	return s
})

// readCatalogue reads every class; the file's name is the class.
func readCatalogue(files fs.FS) ([]entry, error) {
	names, err := fs.Glob(files, "catalogue/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		dec := yaml.NewDecoder(strings.NewReader(string(data)))
		dec.KnownFields(true)
		var entries []entry
		if err := dec.Decode(&entries); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i := range entries {
			entries[i].class = strings.TrimSuffix(strings.TrimPrefix(name, "catalogue/"), ".yaml")
		}
		all = append(all, entries...)
	}
	return all, nil
}

func (e entry) compile() compiled {
	pattern := expand(e.Pattern, scriptWords)
	return compiled{
		Rule: Rule{
			ID: e.ID, AppliesTo: kenny.AppliesTo(e.For), Class: e.class,
			Pattern: pattern, Reason: e.Reason, Builtin: true,
		},
		script:     newMatcher(pattern),
		path:       newMatcher(expand(e.Pattern, pathWords)),
		keepQuotes: e.KeepQuotes,
	}
}
