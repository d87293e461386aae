package probe

import (
	"slices"
	"strings"
)

// parseSystemctlShow reads `systemctl show`: blocks of KEY=VALUE lines with a
// blank line between units.
func parseSystemctlShow(text string) []map[string]string {
	var out []map[string]string
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		unit := map[string]string{}
		for line := range strings.Lines(block) {
			if key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "="); ok {
				unit[key] = value
			}
		}
		if unit["Id"] != "" {
			out = append(out, unit)
		}
	}
	return out
}

// parseUnitFiles reads `systemctl list-unit-files --plain --no-legend`: name
// and state, then what newer versions add.
func parseUnitFiles(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 {
			out[f[0]] = f[1]
		}
	}
	return out
}

// systemdServices joins what is loaded with what is only on disk.
func systemdServices(loaded []map[string]string, files map[string]string) []Service {
	var out []Service
	seen := map[string]bool{}
	for _, u := range loaded {
		if u["LoadState"] == "not-found" || seen[u["Id"]] {
			continue // something wishes for a service that is not installed
		}
		seen[u["Id"]] = true
		start := u["UnitFileState"]
		if start == "" {
			start = files[u["Id"]]
		}
		out = append(out, Service{Name: serviceName(u["Id"]), Display: u["Description"], Status: systemdStatus(u["ActiveState"]), Start: systemdStart(start)})
	}
	for name, state := range files {
		if !seen[name] && !strings.HasSuffix(name, "@.service") {
			out = append(out, Service{Name: serviceName(name), Display: serviceName(name), Status: Stopped, Start: systemdStart(state)})
		}
	}
	slices.SortFunc(out, func(a, b Service) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func serviceName(unit string) string { return strings.TrimSuffix(unit, ".service") }

func systemdStatus(state string) string {
	switch state {
	case "active", "reloading", "refreshing":
		return Running
	case "activating":
		return Starting
	case "deactivating":
		return Stopping
	case "failed":
		return Failed
	case "maintenance":
		return Paused
	}
	return Stopped
}

func systemdStart(state string) string {
	switch state {
	case "enabled", "enabled-runtime", "generated":
		return Auto
	case "disabled", "masked", "masked-runtime", "bad":
		return Disabled
	}
	return Manual
}
