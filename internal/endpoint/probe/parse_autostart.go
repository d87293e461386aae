package probe

import "strings"

// parseExecStart gives the first command of a unit file.
func parseExecStart(text string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok && value != "" {
			return strings.TrimLeft(value, "@-:+!|")
		}
	}
	return ""
}

// parseDesktop reads an autostart entry; one that is switched off is none.
func parseDesktop(text string) (Startup, bool) {
	var s Startup
	section, off := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section != "[Desktop Entry]" {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case key == "Name":
			s.Name = value
		case key == "Exec":
			s.Command = value
		case key == "Hidden" && value == "true", key == "X-GNOME-Autostart-enabled" && value == "false":
			off = true
		}
	}
	return s, s.Command != "" && !off
}

// parseReboot finds the @reboot jobs of a crontab; system crontabs name a user
// before the command.
func parseReboot(text, location string, system bool) []Startup {
	var out []Startup
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "@reboot")
		rest = strings.TrimSpace(rest)
		if !ok || rest == "" {
			continue
		}
		if system {
			_, after, found := strings.Cut(rest, " ")
			if !found {
				continue
			}
			rest = strings.TrimSpace(after)
		}
		out = append(out, Startup{Name: "@reboot", Command: rest, Location: location})
	}
	return out
}
