package viber

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// TaskSubmit hands over a goal.
type TaskSubmit struct {
	IdempotencyKey string        `json:"idempotency_key,omitzero"`
	Goal           string        `json:"goal"`
	Messages       []ChatMessage `json:"messages"`
	Plan           *Plan         `json:"plan,omitzero"`
	Artifacts      []Artifact    `json:"artifacts,omitzero"`
	Memory         string        `json:"memory,omitzero"`
	Options        *TaskOptions  `json:"options,omitzero"`
}

// Key is the idempotency key; a submit without one is known by its envelope's id.
func (s *TaskSubmit) Key(envelopeID string) string {
	if s.IdempotencyKey == "" {
		return envelopeID
	}
	return s.IdempotencyKey
}

// Opts returns the options, which may have been left out.
func (s *TaskSubmit) Opts() TaskOptions {
	if s.Options == nil {
		return TaskOptions{}
	}
	return *s.Options
}

func (s *TaskSubmit) check() *Violation {
	switch {
	case strings.TrimSpace(s.Goal) == "":
		return violation(ReasonMissingGoal, "/goal", "a task needs a goal")
	case len(s.Goal) > MaxGoal:
		return tooLarge("/goal", MaxGoal, "bytes")
	case len(s.Memory) > MaxMemory:
		return tooLarge("/memory", MaxMemory, "bytes")
	case utf8.RuneCountInString(s.IdempotencyKey) > MaxIdempotencyKey:
		return violation(ReasonBadPayload, "/idempotency_key", "idempotency_key has at most %d characters", MaxIdempotencyKey)
	}
	if v := s.checkHistory(); v != nil {
		return v
	}
	return s.checkArtifacts()
}

func (s *TaskSubmit) checkHistory() *Violation {
	if len(s.Messages) > MaxHistory {
		return tooLarge("/messages", MaxHistory, "messages")
	}
	size := 0
	for i := range s.Messages {
		if v := s.Messages[i].check(fmt.Sprintf("/messages/%d", i)); v != nil {
			return v
		}
		size += s.Messages[i].size()
	}
	if size > MaxHistoryBytes {
		return tooLarge("/messages", MaxHistoryBytes, "bytes")
	}
	return nil
}

func (s *TaskSubmit) checkArtifacts() *Violation {
	if len(s.Artifacts) > MaxArtifacts {
		return tooLarge("/artifacts", MaxArtifacts, "artifacts")
	}
	for i, a := range s.Artifacts {
		if problem := a.problem(); problem != "" {
			return violation(ReasonBadArtifact, fmt.Sprintf("/artifacts/%d", i), "%s", problem)
		}
	}
	return nil
}

// ArtifactType is what an artifact is.
type ArtifactType string

// The kinds of artifacts.
const (
	ArtifactFile       ArtifactType = "file"
	ArtifactScreenshot ArtifactType = "screenshot"
	ArtifactLog        ArtifactType = "log"
)

// Artifact refers to a file or a page.
type Artifact struct {
	ID    string       `json:"id"`
	Title string       `json:"title,omitzero"`
	Type  ArtifactType `json:"type,omitzero"`
	// Ref is an http or https address, file: and the digest of a file of the hub, or a path
	// of the workspace. Whether a path lies there is for whoever has the workspace to find out.
	Ref string `json:"ref,omitzero"`
}

// IsURL reports whether the artifact is on the web.
func (a Artifact) IsURL() bool {
	u, err := url.Parse(a.Ref)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// fileScheme leads the digest of a file that was put into the hub.
const fileScheme = "file:"

// FileRef is the ref of a file of the hub.
func FileRef(digest string) string { return fileScheme + digest }

// FileDigest is the digest of the file of the hub that the artifact is; "" if it is none.
func (a Artifact) FileDigest() string {
	digest, ok := strings.CutPrefix(a.Ref, fileScheme)
	if !ok || len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return ""
	}
	return digest
}

func (a Artifact) problem() string {
	switch a.Type {
	case "", ArtifactFile, ArtifactScreenshot, ArtifactLog:
	default:
		return "an artifact's type is file, screenshot or log"
	}
	switch {
	case a.ID == "":
		return "an artifact needs an id"
	case strings.Contains(a.Ref, "\x00"):
		return "an artifact's ref holds a zero byte"
	case a.Ref != "" && hasScheme(a.Ref) && !a.IsURL() && a.FileDigest() == "":
		return "an artifact's ref is an http or https address, file: and a digest, or a path of the workspace"
	}
	return ""
}

// hasScheme tells javascript:x from a path. One letter is a Windows drive.
func hasScheme(ref string) bool {
	scheme, _, ok := strings.Cut(ref, ":")
	if !ok || len(scheme) < 2 {
		return false
	}
	for i, r := range scheme {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return false
		}
	}
	return true
}

// Type names the message.
func (*TaskSubmit) Type() Type { return TypeTaskSubmit }
