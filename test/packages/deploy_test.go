package packages_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"gopkg.in/yaml.v3"
)

// chartFunctions are those of Helm that the chart uses.
var chartFunctions = template.FuncMap{
	"fail":  func(text string) (string, error) { return "", errors.New(text) },
	"int":   func(v any) (n int, err error) { _, err = fmt.Sscan(fmt.Sprint(v), &n); return n, err },
	"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
	"default": func(fallback, v any) any {
		if v == nil || v == "" {
			return fallback
		}
		return v
	},
	"toYaml": func(v any) (string, error) { text, err := yaml.Marshal(v); return strings.TrimSpace(string(text)), err },
	"nindent": func(n int, text string) string {
		pad := "\n" + strings.Repeat(" ", n)
		return pad + strings.ReplaceAll(text, "\n", pad)
	},
}

// rendered is the chart's objects by kind, with some values of one's own.
func rendered(t *testing.T, own func(values map[string]any)) (map[string][]map[string]any, error) {
	t.Helper()
	chart := filepath.Join(root, "deploy/helm/parley")
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	check(t, err)
	values := map[string]any{}
	check(t, yaml.Unmarshal(text, &values))
	own(values)
	data := map[string]any{"Values": values, "Release": map[string]any{"Name": "here"}, "Chart": map[string]any{"AppVersion": "1.2.3"}}
	objects := map[string][]map[string]any{}
	names, err := filepath.Glob(filepath.Join(chart, "templates/*.yaml"))
	check(t, err)
	for _, name := range names {
		parsed, err := template.New(filepath.Base(name)).Funcs(chartFunctions).ParseFiles(name)
		check(t, err)
		var out bytes.Buffer
		if err := parsed.Execute(&out, data); err != nil {
			return nil, err
		}
		for dec := yaml.NewDecoder(&out); ; {
			var object map[string]any
			if err := dec.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if kind, ok := object["kind"].(string); ok {
				objects[kind] = append(objects[kind], object)
			}
		}
	}
	return objects, nil
}

// This is no Helm: it shows that the templates are YAML whatever is chosen, and that the choice
// that cannot work is refused.
func TestTheChartRenders(t *testing.T) {
	one, err := rendered(t, func(map[string]any) {})
	check(t, err)
	if len(one["StatefulSet"]) != 1 || len(one["Service"]) != 2 || len(one["Ingress"]) != 1 || len(one["PodDisruptionBudget"]) != 0 {
		t.Errorf("one hub is %d, %d, %d, %d", len(one["StatefulSet"]), len(one["Service"]), len(one["Ingress"]), len(one["PodDisruptionBudget"]))
	}
	three := func(values map[string]any) { values["replicas"] = 3 }
	if _, err := rendered(t, three); err == nil || !strings.Contains(err.Error(), "share a database and a bus") {
		t.Errorf("three hubs without a database: %v", err)
	}
	shared, err := rendered(t, func(values map[string]any) {
		three(values)
		values["db"] = map[string]any{"secret": "pg", "key": "url"}
		values["nats"] = map[string]any{"secret": "bus", "key": "url"}
		values["env"] = map[string]any{"PARLEY_LOG_LEVEL": "debug"}
	})
	check(t, err)
	text := fmt.Sprint(shared["StatefulSet"])
	for _, want := range []string{"PARLEY_DB", "PARLEY_NATS", "PARLEY_LOG_LEVEL", "registry.example.org/parley:1.2.3", "runAsNonRoot:true", "readOnlyRootFilesystem:true"} {
		if !strings.Contains(text, want) {
			t.Errorf("three hubs lack %s", want)
		}
	}
	if len(shared["PodDisruptionBudget"]) != 1 {
		t.Error("all of three hubs may be taken away at once")
	}
}

// What the files under deploy say about each other is true.
func TestComposeAndContainersFit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/compose.yaml"))
	check(t, err)
	var compose struct {
		Services map[string]struct {
			Build struct{ Context, Dockerfile string }
			Image string
		}
	}
	check(t, yaml.Unmarshal(text, &compose))
	for _, name := range []string{"hub", "postgres", "nats", "caddy"} {
		if _, ok := compose.Services[name]; !ok {
			t.Errorf("compose.yaml has no %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(root, compose.Services["hub"].Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"Dockerfile", "Dockerfile.tools"} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", name))
		check(t, err)
		for _, want := range []string{"\nUSER 10001:10001\n", "\nHEALTHCHECK ", "\nVOLUME /var/lib/parley\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", name, strings.TrimSpace(want))
			}
		}
	}
	container, err := os.ReadFile(filepath.Join(root, "deploy/Dockerfile"))
	check(t, err)
	for line := range strings.Lines(string(container)) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "COPY" && !strings.Contains(line, "bin/cross") && !strings.Contains(line, "--from") {
			if _, err := os.Stat(filepath.Join(root, words[len(words)-2])); err != nil {
				t.Error(err)
			}
		}
	}
}
