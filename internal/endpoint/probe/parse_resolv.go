package probe

import (
	"strings"
)

// parseResolv reads the name servers of a resolv.conf.
func parseResolv(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "nameserver" {
			out = append(out, fields[1])
		}
	}
	return out
}

// parseScutil reads the name servers of `scutil --dns`.
func parseScutil(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.HasPrefix(strings.TrimSpace(key), "nameserver[") {
			out = append(out, strings.TrimSpace(value))
		}
	}
	return out
}
