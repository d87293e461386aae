package probe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/fit"
)

// maxMessage bounds one log message, so that a thousand fit an answer.
const maxMessage = 4 << 10

// parseJournal reads `journalctl --output=json`: one object per line.
func parseJournal(data []byte) []Event {
	var out []Event
	for line := range jsonLines(data) {
		var e map[string]json.RawMessage
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		out = append(out, Event{
			Time:    journalTime(journalText(e["__REALTIME_TIMESTAMP"])),
			Level:   syslogLevel(journalText(e["PRIORITY"])),
			Source:  firstText(journalText(e["SYSLOG_IDENTIFIER"]), journalText(e["_SYSTEMD_UNIT"]), journalText(e["_COMM"]), journalText(e["_TRANSPORT"])),
			Message: fit.Cut(journalText(e["MESSAGE"]), maxMessage),
		})
	}
	return out
}

// jsonLines gives the non-empty lines of newline-delimited JSON.
func jsonLines(data []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		scanner := bufio.NewScanner(bytes.NewReader(data))
		scanner.Buffer(nil, len(data)+1)
		for scanner.Scan() {
			if line := bytes.TrimSpace(scanner.Bytes()); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// journalText reads a field: a string, the bytes of one that is no UTF-8, or
// a list when a field was given twice.
func journalText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var numbers []byte
	var list []int
	if json.Unmarshal(raw, &list) == nil {
		for _, n := range list {
			numbers = append(numbers, byte(n))
		}
		return strings.ToValidUTF8(string(numbers), "\uFFFD")
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) == nil && len(many) > 0 {
		return journalText(many[0])
	}
	return ""
}

func journalTime(micros string) string {
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return ""
	}
	return time.UnixMicro(n).UTC().Format(time.RFC3339Nano)
}

// Words for the level of an event, the same on every system.
const (
	levelCritical = "critical"
	levelError    = "error"
	levelWarning  = "warning"
	levelInfo     = "info"
	levelDebug    = "debug"
)

func syslogLevel(priority string) string {
	switch priority {
	case "0", "1", "2":
		return levelCritical
	case "3":
		return levelError
	case "4":
		return levelWarning
	case "7":
		return levelDebug
	}
	return levelInfo
}

func firstText(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}
