package probe

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Autostart lists enabled units, desktop entries and @reboot jobs.
func Autostart(context.Context) ([]Startup, error) { return autostartIn(os.DirFS("/")), nil }

// autostartIn reads the files themselves, so that it works whoever manages the
// machine. What cannot be read is somebody else's and left out.
func autostartIn(root fs.FS) []Startup {
	var out []Startup
	for _, pattern := range []string{"etc/systemd/system/*.wants/*", "etc/systemd/system/*.requires/*", "etc/systemd/user/*.wants/*"} {
		for _, name := range glob(root, pattern) {
			out = append(out, Startup{Name: path.Base(name), Command: unitCommand(root, path.Base(name)), Location: "/" + path.Dir(name)})
		}
	}
	for _, pattern := range []string{"etc/xdg/autostart/*.desktop", "home/*/.config/autostart/*.desktop", "root/.config/autostart/*.desktop"} {
		for _, name := range glob(root, pattern) {
			if s, ok := parseDesktop(readText(root, name)); ok {
				s.Location = "/" + name
				out = append(out, s)
			}
		}
	}
	for _, name := range append([]string{"etc/crontab"}, glob(root, "etc/cron.d/*")...) {
		out = append(out, parseReboot(readText(root, name), "/"+name, true)...)
	}
	for _, pattern := range []string{"var/spool/cron/crontabs/*", "var/spool/cron/*"} {
		for _, name := range glob(root, pattern) {
			out = append(out, parseReboot(readText(root, name), "/"+name, false)...)
		}
	}
	return out
}

// unitCommand finds what a unit runs; its file is in one of systemd's folders.
func unitCommand(root fs.FS, unit string) string {
	name := unit
	if at := strings.IndexByte(unit, '@'); at >= 0 {
		name = unit[:at+1] + path.Ext(unit)
	}
	for _, dir := range []string{"etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system", "etc/systemd/user", "usr/lib/systemd/user"} {
		if text := readText(root, path.Join(dir, name)); text != "" {
			return parseExecStart(text)
		}
	}
	return ""
}

func glob(root fs.FS, pattern string) []string {
	names, err := fs.Glob(root, pattern)
	if err != nil {
		return nil
	}
	return names
}

func readText(root fs.FS, name string) string {
	info, err := fs.Stat(root, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(data)
}
