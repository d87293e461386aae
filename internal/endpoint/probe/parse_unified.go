package probe

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/fit"
)

// unifiedPredicate is the filter of macOS' log for a log's name.
func unifiedPredicate(log string) string {
	switch strings.ToLower(log) {
	case "system":
		return ""
	case "application":
		return "processID != 0"
	case "kernel":
		return "processID == 0"
	}
	return `subsystem == "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(log) + `"`
}

// parseUnified reads `log show --style ndjson` and gives the newest count
// entries, newest first.
func parseUnified(data []byte, count int) []Event {
	var out []Event
	for line := range jsonLines(data) {
		var e struct {
			Timestamp string `json:"timestamp"`
			Type      string `json:"messageType"`
			Subsystem string `json:"subsystem"`
			Image     string `json:"processImagePath"`
			Message   string `json:"eventMessage"`
		}
		if json.Unmarshal(line, &e) != nil || e.Timestamp == "" {
			continue // the last line counts the others
		}
		out = append(out, Event{Time: unifiedTime(e.Timestamp), Level: unifiedLevel(e.Type), Source: firstText(e.Subsystem, path.Base(e.Image)), Message: fit.Cut(e.Message, maxMessage)})
	}
	slices.Reverse(out)
	return out[:min(count, len(out))]
}

func unifiedTime(s string) string {
	t, err := time.Parse("2006-01-02 15:04:05.999999-0700", s)
	if err != nil {
		return s
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func unifiedLevel(kind string) string {
	switch kind {
	case "Fault":
		return levelCritical
	case "Error":
		return levelError
	case "Debug":
		return levelDebug
	}
	return levelInfo
}
