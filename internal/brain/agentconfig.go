package brain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// readConfig reads the JSON people and programs edit agents with: an object of the
// keys of the file, and prompt. null means the default.
func readConfig(config []byte) (changes []change, prompt *string, err error) {
	if len(bytes.TrimSpace(config)) == 0 {
		return nil, nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(config))
	var given map[string]any
	if err := dec.Decode(&given); err != nil || given == nil {
		return nil, nil, errors.New("not a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("something follows the JSON object")
	}
	if raw, ok := given["prompt"]; ok {
		text, isText := raw.(string)
		if !isText && raw != nil {
			return nil, nil, errors.New("prompt: want text")
		}
		prompt = &text
		delete(given, "prompt")
	}
	for key := range given {
		if !slices.Contains(keyOrder, key) {
			return nil, nil, unknownKey(key, append(slices.Clone(keyOrder), "prompt"))
		}
	}
	for _, key := range keyOrder {
		if value, ok := given[key]; ok {
			changes = append(changes, change{key, plain(value)})
		}
	}
	return changes, prompt, nil
}

// plain turns the whole numbers of JSON into integers, so that a file says 16 and
// not 16.0, and drops what is null.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case map[string]any:
		for k, inner := range v {
			if inner == nil {
				delete(v, k)
				continue
			}
			v[k] = plain(inner)
		}
	}
	return v
}

// newFile makes the file of a new agent from its JSON configuration.
func newFile(config []byte) ([]byte, error) {
	changes, prompt, err := readConfig(config)
	if err != nil {
		return nil, err
	}
	if prompt == nil {
		prompt = new(string)
	}
	return editFront([]byte(fence+"\n"+fence+"\n"), changes, prompt)
}

// changeFile applies a JSON configuration to an agent's file: given keys change.
func changeFile(file, config []byte) ([]byte, error) {
	changes, prompt, err := readConfig(config)
	if err != nil {
		return nil, err
	}
	return editFront(file, changes, prompt)
}

// Config is the agent as JSON: the keys of its file with the values that hold,
// and prompt. Given to Create, it makes an equal agent.
func (a *Agent) Config() json.RawMessage {
	out := map[string]any{
		"description": a.Description, "model": nilIfEmpty(a.Model), "thinking": orOff(a.Thinking),
		"tools": list(a.Tools), "guest_tools": list(a.GuestTools), "auto_approve": list(a.AutoApprove),
		"skills": list(a.Skills), "mcps": list(a.MCPs), "members": list(a.Members), "senders": list(a.Senders), "owner": nilIfEmpty(a.Owner),
		"workspace": nilIfEmpty(a.Workspace), "max_iterations": a.MaxIterations, "run_timeout": a.RunTimeout.String(),
		"compact_threshold": a.Compact.String(), "compact_model": nilIfEmpty(a.CompactModel),
		"compact_tool_max_len": a.CompactToolMaxLen, "recall": onOff(a.RecallAuto, "auto"),
		"auto_title": onOff(a.AutoTitle, "model"), "temperature": a.Temperature, "max_output_tokens": nil,
		"budget": a.Budget.config(), "mode": nilIfEmpty(a.Mode), "require_approval": list(a.RequireApproval), "approval_timeout": nil, "place": a.Place, "deposit": a.Deposit, "prompt": a.Prompt,
	}
	if a.MaxOutputTokens > 0 {
		out["max_output_tokens"] = a.MaxOutputTokens
	}
	if a.ApprovalTimeout > 0 {
		out["approval_timeout"] = a.ApprovalTimeout.String()
	}
	raw, err := json.Marshal(out)
	if err != nil {
		panic(fmt.Sprintf("an agent is always JSON: %v", err)) // only plain values are in it
	}
	return raw
}

func (b Budget) config() map[string]any {
	out := map[string]any{}
	for key, micros := range map[string]int64{"run_usd": b.RunMicros, "day_usd": b.DayMicros, "month_usd": b.MonthMicros} {
		if micros > 0 {
			out[key] = usd(micros)
		}
	}
	for key, tokens := range map[string]int64{"run_tokens": b.RunTokens, "day_tokens": b.DayTokens} {
		if tokens > 0 {
			out[key] = tokens
		}
	}
	if b.Hard {
		out["hard"] = true
	}
	return out
}

// String is the form the file has.
func (t Threshold) String() string {
	switch {
	case t.Off:
		return "off"
	case t.Tokens > 0:
		return fmt.Sprint(t.Tokens)
	default:
		return fmt.Sprintf("%d%%", t.Percent)
	}
}

func list(l []string) []string { return append([]string{}, l...) }

func nilIfEmpty(s string) any {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return s
}

func orOff(s string) string {
	if s == "" {
		return "off"
	}
	return s
}

func onOff(on bool, word string) string {
	if on {
		return word
	}
	return "off"
}
