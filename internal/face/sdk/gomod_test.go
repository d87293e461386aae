package sdk

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write gomod.txt anew")

// need asks Go itself which modules the SDK's packages use, and which of them they
// import themselves.
func need(t *testing.T) (versions map[string]string, direct map[string]bool) {
	t.Helper()
	versions, direct = map[string]string{}, map[string]bool{}
	const ours = "{{with .Module}}{{.Path}} {{.Version}}{{end}}"
	list := func(args ...string) string {
		cmd := exec.Command("go", append([]string{"list"}, args...)...)
		cmd.Dir = "../../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list %v: %v", args, err)
		}
		return string(out)
	}
	var packages []string
	for p := range strings.FieldsSeq(list("./client/...", "./protocol/...")) {
		if !strings.HasSuffix(p, "test") {
			packages = append(packages, p)
		}
	}
	imports := map[string]bool{}
	for p := range strings.FieldsSeq(list(append([]string{"-f", `{{join .Imports "\n"}}`}, packages...)...)) {
		imports[p] = true
	}
	for line := range strings.Lines(list(append([]string{"-deps", "-f", "{{.ImportPath}} " + ours}, packages...)...)) {
		if f := strings.Fields(line); len(f) == 3 {
			versions[f[1]] = f[2]
			direct[f[1]] = direct[f[1]] || imports[f[0]]
		}
	}
	return versions, direct
}

func TestTheModuleNamesExactlyWhatItNeeds(t *testing.T) {
	versions, direct := need(t)
	var lines []string
	for path, version := range versions {
		line := "\t" + path + " " + version
		if !direct[path] {
			line += " // indirect"
		}
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	var first string
	own, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(own)) {
		if strings.HasPrefix(line, "go ") {
			first = line
		}
	}
	want := fmt.Sprintf("module %s\n\n%s\nrequire (\n%s)\n", goPath, first, strings.Join(lines, ""))
	if *update {
		if err := os.WriteFile("gomod.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(goMod)); diff != "" {
		t.Errorf("gomod.txt is not what client/ and protocol/ need (-want +got); run go test ./internal/face/sdk -run Module -update:\n%s", diff)
	}
}
