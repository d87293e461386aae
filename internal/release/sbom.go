package release

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// Parts is a list of what a program is made of, in CycloneDX 1.5: the Go modules that the
// compiler wrote into it, and the page's packages from their lock file. It has no date and
// no random number: the same program has the same list.
func Parts(program, lockFile, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	parts := []component{{Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		parts = append(parts, goModule(m.Path, m.Version, m.Sum))
	}
	if lockFile != "" {
		pages, err := npmPackages(lockFile)
		if err != nil {
			return nil, err
		}
		parts = append(parts, pages...)
	}
	slices.SortFunc(parts, func(a, b component) int { return strings.Compare(a.PURL, b.PURL) })
	return json.MarshalIndent(document{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata:   metadata{Component: component{Type: "application", Name: path.Base(info.Path), Version: version, PURL: "pkg:generic/" + path.Base(info.Path) + "@" + version}},
		Components: parts,
	}, "", " ")
}

type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func goModule(name, version, sum string) component {
	c := component{Type: "library", Name: name, Version: version, PURL: "pkg:golang/" + name + "@" + version}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(raw) == 32 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}

// npmPackages are what the page may hold: everything locked that is no tool of its build.
func npmPackages(lockFile string) ([]component, error) {
	data, err := os.ReadFile(lockFile)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
			Dev     bool   `json:"dev"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", lockFile, err)
	}
	const modules = "node_modules/"
	var out []component
	for where, p := range lock.Packages {
		if at := strings.LastIndex(where, modules); at >= 0 && !p.Dev {
			name := where[at+len(modules):]
			out = append(out, component{Type: "library", Name: name, Version: p.Version, PURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version})
		}
	}
	return out, nil
}
