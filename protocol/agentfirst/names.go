package agentfirst

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultSender is who speaks when a message names no sender.
const DefaultSender = "user"

// CheckAgent reports whether name may name an agent.
func CheckAgent(name string) error {
	if name == "" || len(name) > MaxAgentName {
		return fmt.Errorf("%w: an agent's name has 1 to %d characters", ErrBadName, MaxAgentName)
	}
	for i := range len(name) {
		c := name[i]
		ok := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || i > 0 && (c == '_' || c == '-')
		if !ok {
			return fmt.Errorf("%w: agent %q: use a-z, 0-9, _ and -, beginning with a letter or digit", ErrBadName, name)
		}
	}
	return nil
}

// CheckSender reports whether sender may name whom an agent talks with. Empty is
// not allowed: apply [SenderOr] first where empty means the default.
func CheckSender(sender string) error {
	if sender == "" {
		return fmt.Errorf("%w: sender is empty", ErrBadName)
	}
	return checkText("sender", sender, MaxSender)
}

// CheckThread reports whether thread may name a thread; empty is the main one.
func CheckThread(thread string) error {
	return checkText("thread", thread, MaxThread)
}

func checkText(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%w: %s is longer than %d bytes", ErrBadName, what, limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %s is not UTF-8", ErrBadName, what)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%w: %s %q has control characters", ErrBadName, what, s)
	}
	return nil
}

// SenderOr returns sender, or fallback when it is empty, or DefaultSender when
// both are: absent and empty mean the same wherever a conversation is addressed.
func SenderOr(sender, fallback string) string {
	switch {
	case sender != "":
		return sender
	case fallback != "":
		return fallback
	}
	return DefaultSender
}

// handlePrefix begins every file_path. The wire calls it a path; it is a handle
// and is never looked up in a file system.
const handlePrefix = "conversation:"

// Handle returns the opaque handle of the conversation with this id.
func Handle(id string) string { return handlePrefix + id }

// ParseHandle returns the conversation id in a handle. Anything that is not a
// handle, a path above all, is not ok.
func ParseHandle(handle string) (id string, ok bool) {
	id, ok = strings.CutPrefix(handle, handlePrefix)
	if !ok || id == "" || len(id) > 64 || strings.ContainsFunc(id, notIDRune) {
		return "", false
	}
	return id, true
}

func notIDRune(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-')
}
