package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/knadh/koanf/v2"
	"gopkg.in/yaml.v3"

	"parley.internal/internal/fit"
)

// ErrInvalid marks every error that is the settings' fault.
var ErrInvalid = errors.New("bad configuration")

// Sources say where settings come from besides the file.
type Sources struct {
	// Data is the data folder.
	Data string
	// File is the settings file; empty for parley.yaml in the data folder.
	File string
	// Environ is the environment, as os.Environ gives it.
	Environ []string
	// Flags are the flags that were really given, by flag name.
	Flags map[string]string
}

// Load merges the sources and checks the result.
func Load(src Sources) (Config, error) {
	k := koanf.New(".")
	for _, layer := range []func(Sources) (map[string]any, error){defaults, file, environment, flags} {
		values, err := layer(src)
		if err == nil {
			err = k.Load(provider(values), nil)
		}
		if err != nil {
			return Config{}, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	var c Config
	if err := k.Unmarshal("", &c); err != nil {
		return Config{}, fmt.Errorf("%w: %s", ErrInvalid, fit.OneLine(err.Error()))
	}
	c.Data, c.File = src.Data, src.File
	return c, c.check()
}

// provider feeds a map to koanf.
type provider map[string]any

func (p provider) Read() (map[string]any, error) { return p, nil }

func (p provider) ReadBytes() ([]byte, error) { return nil, errors.ErrUnsupported }

func defaults(Sources) (map[string]any, error) {
	return collect(func(s setting) (string, string, bool) { return s.fallback, "default of " + s.key, true })
}

func environment(src Sources) (map[string]any, error) {
	env := map[string]string{}
	for _, pair := range src.Environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return collect(func(s setting) (string, string, bool) {
		value, ok := env[s.env()]
		return value, s.env(), ok
	})
}

func flags(src Sources) (map[string]any, error) {
	return collect(func(s setting) (string, string, bool) {
		value, ok := src.Flags[s.flag]
		return value, "--" + s.flag, ok && s.flag != ""
	})
}

// collect reads the settings a source has; source names it for errors.
func collect(from func(setting) (value, source string, ok bool)) (map[string]any, error) {
	values := map[string]any{}
	for _, s := range settings {
		raw, source, ok := from(s)
		if !ok {
			continue
		}
		value, err := s.parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		put(values, s.key, value)
	}
	return values, nil
}

func put(values map[string]any, key string, value any) {
	head, rest, nested := strings.Cut(key, ".")
	if !nested {
		values[head] = value
		return
	}
	inner, ok := values[head].(map[string]any)
	if !ok {
		inner = map[string]any{}
		values[head] = inner
	}
	put(inner, rest, value)
}

func (s setting) parse(raw string) (any, error) {
	switch s.kind {
	case list:
		return splitList(raw), nil
	case truth:
		b, err := strconv.ParseBool(raw)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", raw)
		}
		return b, nil
	case duration:
		d, err := time.ParseDuration(raw)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%q is no duration such as 20s", raw)
		}
		return d, nil
	case number:
		n, err := strconv.Atoi(raw)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", raw)
		}
		return n, nil
	default:
		return raw, nil
	}
}

func splitList(raw string) []string {
	var items []string
	for item := range strings.SplitSeq(raw, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// file reads parley.yaml. Only a file that was named must exist.
func file(src Sources) (map[string]any, error) {
	path := src.File
	if path == "" {
		path = filepath.Join(src.Data, FileName)
	}
	data, err := os.ReadFile(path)
	// A data folder that is no folder is the hub's to complain about.
	if src.File == "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("%s: %s", path, fit.OneLine(err.Error()))
	}
	if err := checkKeys(values, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, checkValues(values, path)
}

// lists are settings the table has no form for.
var lists = []string{"mcp", "notify", "policy.approvals"}

// checkKeys refuses what the table does not know: a misspelt setting must not
// be silently without effect.
func checkKeys(values map[string]any, prefix string) error {
	for name, value := range values {
		key := prefix + name
		if inner, ok := value.(map[string]any); ok && isGroup(key) {
			if err := checkKeys(inner, key+"."); err != nil {
				return err
			}
			continue
		}
		if !slices.Contains(lists, key) && !slices.ContainsFunc(settings, func(s setting) bool { return s.key == key }) {
			return fmt.Errorf("unknown setting %q", key)
		}
	}
	return nil
}

func isGroup(key string) bool {
	return slices.ContainsFunc(settings, func(s setting) bool { return strings.HasPrefix(s.key, key+".") })
}

// checkValues reads scalars by the table, so that "20s" or "yes" mean the same
// in the file as on the command line.
func checkValues(values map[string]any, path string) error {
	for _, s := range settings {
		group, name := values, s.key
		if head, rest, nested := strings.Cut(s.key, "."); nested {
			group, _ = values[head].(map[string]any)
			name = rest
		}
		raw, ok := group[name]
		if _, isList := raw.([]any); !ok || isList {
			continue
		}
		value, err := s.parse(fmt.Sprint(raw))
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, s.key, err)
		}
		group[name] = value
	}
	return nil
}
