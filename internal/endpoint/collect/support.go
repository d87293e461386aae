package collect

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

//go:embed support.yaml
var supportTable []byte

// release is one version of an operating system and the last day it is cared
// for.
type release struct {
	System  string `yaml:"system"`
	Version string `yaml:"version"`
	Ends    string `yaml:"ends"`
}

// system is what runs here. ID and Version are looked up in the table: the
// longest version that is the same or a prefix up to a dot wins.
type system struct {
	ID, Name, Version, Build string
}

func supportSection(s system, now time.Time) (*section, error) {
	var table []release
	if err := yaml.Unmarshal(supportTable, &table); err != nil {
		return nil, fmt.Errorf("support table: %w", err)
	}
	fields := map[string]any{"name": s.Name, "version": s.Version, "build": s.Build, "eol": nil, "eol_date": nil, "arch": runtime.GOARCH}
	summary := strings.TrimSpace(s.Name + " " + s.Version)
	r, found := lookup(table, s)
	if !found {
		return ok(summary+", support unknown", fields), nil
	}
	ends, err := time.Parse(time.DateOnly, r.Ends)
	if err != nil {
		return nil, fmt.Errorf("support table: %w", err)
	}
	fields["eol"], fields["eol_date"] = now.After(ends.AddDate(0, 0, 1)), r.Ends
	return ok(summary+", supported until "+r.Ends, fields), nil
}

func lookup(table []release, s system) (release, bool) {
	var best release
	for _, r := range table {
		if r.System != s.ID || !covers(r.Version, s.Version) && !covers(r.Version, s.Build) {
			continue
		}
		if len(r.Version) > len(best.Version) {
			best = r
		}
	}
	return best, best.Version != ""
}

// covers: 12 covers 12 and 12.5, not 120.
func covers(entry, version string) bool {
	return version == entry || strings.HasPrefix(version, entry+".")
}

// parseOSRelease reads /etc/os-release.
func parseOSRelease(text string) system {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	return system{ID: values["ID"], Name: values["NAME"], Version: values["VERSION_ID"], Build: values["BUILD_ID"]}
}
