package install

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheServiceRunsTheEndpointWithoutAToken(t *testing.T) {
	c := config("/usr/local/bin/parley", "/var/lib/parley-endpoint")
	if d := cmp.Diff([]string{"endpoint", "run", "--service", "--state", "/var/lib/parley-endpoint"}, c.Arguments); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	want := map[string]string{"linux": "parley-endpoint", "windows": "ParleyEndpoint", "darwin": "dev.parley.endpoint"}[runtime.GOOS]
	if c.Name != want || c.Executable != "/usr/local/bin/parley" {
		t.Errorf("%+v; want c.Name to be %v, c.Executable to be \"/usr/local/bin/parley\"", c, want)
	}
	for _, line := range []string{"Restart=on-failure", "WantedBy=multi-user.target", "After=network-online.target"} {
		if !strings.Contains(unit, line) {
			t.Errorf("the unit has no %s", line)
		}
	}
}

func TestTheProgramIsCopiedAndACopyOfItselfIsNone(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "bin", "parley")
	if err := os.WriteFile(from, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again over an old one
		if err := CopyProgram(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyProgram(to, to); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(to)
	data, readErr := os.ReadFile(to)
	if err != nil || readErr != nil || string(data) != "program" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v %q", info.Mode(), err, data)
	}
}

func TestThereAreTwoShortcutsToTheSwitch(t *testing.T) {
	list := shortcuts("/opt/my \"programs\"/parley", "/var/lib/parley-endpoint")
	if len(list) != 2 || !strings.Contains(list[0].content, "endpoint off") || !strings.Contains(list[1].content, "endpoint on") {
		t.Errorf("%+v; want len(list) to be 2, \"endpoint off\" in it, \"endpoint on\" in it", list)
	}
}
