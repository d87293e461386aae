package viber

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Digest tells whether two submits ask for the same: SHA-256, in hex, over the
// canonical JSON (RFC 8785) of goal, messages, plan, artifacts, memory and
// options. Spelling does not count: the order of names, escapes, an alias of a
// mode, what is null, empty or left out. Integers keep all of their digits.
func (s *TaskSubmit) Digest() (string, error) {
	body := struct {
		Goal      string        `json:"goal"`
		Messages  []ChatMessage `json:"messages,omitempty"`
		Plan      *Plan         `json:"plan,omitzero"`
		Artifacts []Artifact    `json:"artifacts,omitempty"`
		Memory    string        `json:"memory,omitzero"`
		Options   TaskOptions   `json:"options,omitzero"`
	}{s.Goal, s.plainMessages(), s.Plan, s.Artifacts, s.Memory, s.Opts()}
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	canonical := jsontext.Value(data)
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// plainMessages leaves out lists with nothing in them.
func (s *TaskSubmit) plainMessages() []ChatMessage {
	out := make([]ChatMessage, len(s.Messages))
	for i, m := range s.Messages {
		if len(m.ToolCalls) == 0 {
			m.ToolCalls = nil
		}
		if len(m.ToolResults) == 0 {
			m.ToolResults = nil
		}
		out[i] = m
	}
	return out
}
