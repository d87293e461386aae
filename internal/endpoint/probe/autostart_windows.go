package probe

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows/registry"
)

// Autostart lists Run keys, start-up folders and tasks that run at log-on or
// boot.
func Autostart(ctx context.Context) ([]Startup, error) {
	out := AutostartFiles()
	tasks, err := logonTasks(ctx)
	if err != nil {
		return nil, err
	}
	return append(out, tasks...), nil
}

// AutostartFiles is the part of Autostart that needs no other program.
func AutostartFiles() []Startup { return append(runKeys(), startupFolders()...) }

const currentVersion = `Software\Microsoft\Windows\CurrentVersion\`

func runKeys() []Startup {
	var out []Startup
	for _, base := range []string{currentVersion, `Software\WOW6432Node\Microsoft\Windows\CurrentVersion\`} {
		for _, name := range []string{"Run", "RunOnce"} {
			out = append(out, runKey(registry.LOCAL_MACHINE, `HKLM\`, base+name)...)
		}
	}
	users, err := registry.USERS.ReadSubKeyNames(-1)
	if err != nil {
		return out
	}
	for _, sid := range users {
		for _, name := range []string{"Run", "RunOnce"} {
			out = append(out, runKey(registry.USERS, `HKU\`, sid+`\`+currentVersion+name)...)
		}
	}
	return out
}

func runKey(root registry.Key, prefix, path string) []Startup {
	k, err := registry.OpenKey(root, path, registry.QUERY_VALUE)
	if err != nil {
		return nil
	}
	defer k.Close()
	names, err := k.ReadValueNames(-1)
	if err != nil {
		return nil
	}
	var out []Startup
	for _, n := range names {
		if value, _, err := k.GetStringValue(n); err == nil {
			out = append(out, Startup{Name: n, Command: value, Location: prefix + path})
		}
	}
	return out
}

func startupFolders() []Startup {
	patterns := []string{
		filepath.Join(os.Getenv("ProgramData"), `Microsoft\Windows\Start Menu\Programs\StartUp\*`),
		filepath.Join(os.Getenv("SystemDrive")+`\`, `Users\*\AppData\Roaming\Microsoft\Windows\Start Menu\Programs\Startup\*`),
	}
	var out []Startup
	for _, p := range patterns {
		files, err := filepath.Glob(p)
		if err != nil {
			continue
		}
		for _, f := range files {
			if name := filepath.Base(f); !strings.EqualFold(name, "desktop.ini") {
				out = append(out, Startup{Name: name, Command: f, Location: filepath.Dir(f)})
			}
		}
	}
	return out
}

func logonTasks(ctx context.Context) ([]Startup, error) {
	out, err := PowerShell(ctx, asJSON(TasksItems))
	if err != nil {
		return nil, err
	}
	return items[Startup](out)
}
