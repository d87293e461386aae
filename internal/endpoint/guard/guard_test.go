package guard

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	wire "parley.internal/protocol/kenny"
)

func TestARefusalIsLoggedWithoutTheScript(t *testing.T) {
	var log bytes.Buffer
	g := New(wire.Linux, slog.New(slog.NewTextHandler(&log, nil)))
	err := g.CheckCall("call-7", "shell_exec", []byte(`{"script":"shred -u very-secret-name"}`))
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || e.Code != wire.CodeBlocked || !strings.HasPrefix(e.Message, "refused by the safety guard: ") || !strings.HasSuffix(e.Message, "[wipe.tool]") {
		t.Errorf("%v", err)
	}
	if line := log.String(); !strings.Contains(line, "call=call-7") || !strings.Contains(line, "rule=wipe.tool") || strings.Contains(line, "very-secret-name") {
		t.Errorf("line is %v; want \"call=call-7\" in it, \"rule=wipe.tool\" in it, not \"very-secret-name\" in it", line)
	}
}

func TestFoldersOfThisInstallationAreProtected(t *testing.T) {
	g := New(wire.Linux, slog.New(slog.DiscardHandler), "/home/ann/my state (1)/ep/")
	for path, refused := range map[string]bool{
		"/home/ann/my state (1)/ep":         true,
		"/home/ann/my state (1)/ep/key":     true,
		"/home/ann/my state (1)//ep/./key":  true,
		"/home/ann/my state (1)/ep2":        false,
		"/home/ann/my state (1)/epilogue/x": false,
	} {
		if got := g.CheckFile("c", "fs_read", path) != nil; got != refused {
			t.Errorf("%s: refused %v", path, got)
		}
	}
	w := New(wire.Windows, slog.New(slog.DiscardHandler), `D:\Ann\Parley State`)
	for _, path := range []string{`D:\Ann\Parley State\key`, `d:\ann\PARLEY STATE`, `D:/Ann/Parley State/key`, `\\?\D:\Ann\Parley State\key`} {
		if w.CheckFile("c", "fs_read", path) == nil {
			t.Errorf("%s is reached", path)
		}
	}
	g.SetOperator(nil)
	if g.CheckFile("c", "fs_read", "/home/ann/my state (1)/ep/key") == nil {
		t.Error("an empty policy opened the folder")
	}
}

func TestTheFinalPathCounts(t *testing.T) {
	g := New(wire.Windows, slog.New(slog.DiscardHandler))
	for _, final := range []string{`\\?\C:\Windows\System32\config\SAM`, `C:\Users\ann\.ssh\id_ed25519`} {
		if g.CheckFile("c", "fs_read", `C:\PROGRA~1\X.TXT`, final) == nil {
			t.Errorf("%s is reached by a short name", final)
		}
	}
	if err := g.CheckFile("c", "fs_read", `C:\Users\ann\Documents\letter.docx`, `\\?\C:\Users\ann\Documents\letter.docx`); err != nil {
		t.Error(err)
	}
}

func TestUpdatesComeFromNamedHostsOnly(t *testing.T) {
	g := New(wire.Linux, slog.New(slog.DiscardHandler))
	hosts := []string{"hub.example.org:8443", "mirror.example.org"}
	for address, refused := range map[string]bool{
		"https://hub.example.org:8443/d/endpoint/x": false,
		"https://mirror.example.org/x":              false,
		"https://hub.example.org/x":                 true,
		"http://mirror.example.org/x":               true,
		"https://mirror.example.org.evil.test/x":    true,
		"https://user@mirror.example.org/x":         true,
		"file:///etc/passwd":                        true,
	} {
		if got := g.CheckUpdate(address, hosts) != nil; got != refused {
			t.Errorf("%s: refused %v", address, got)
		}
	}
}
