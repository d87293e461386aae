package probe

import "strings"

// journalFilter gives journalctl's arguments for a log's name. A name cannot
// become an option: it stands behind an equals sign.
func journalFilter(log string) []string {
	switch strings.ToLower(log) {
	case "system":
		return nil
	case "application":
		return []string{"_TRANSPORT=journal", "_TRANSPORT=syslog", "_TRANSPORT=stdout"}
	case "kernel":
		return []string{"_TRANSPORT=kernel"}
	}
	return []string{"--unit=" + log}
}
