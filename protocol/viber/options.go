package viber

import (
	"cmp"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Mode says which tool calls ask a person first.
type Mode string

// The modes.
const (
	AlwaysAsk     Mode = "always_ask"
	AgentDecides  Mode = "agent_decides"
	AlwaysExecute Mode = "always_execute"
)

// ParseMode reads a mode or one of its aliases: viber_decides, and hyphens for
// underscores. The empty mode is the empty mode.
func ParseMode(s string) (Mode, bool) {
	switch m := Mode(strings.ReplaceAll(s, "-", "_")); m {
	case "", AlwaysAsk, AgentDecides, AlwaysExecute:
		return m, true
	case "viber_decides":
		return AgentDecides, true
	}
	return "", false
}

// Strictness orders modes: a higher number asks more often. The empty mode is the
// default, agent_decides.
func (m Mode) Strictness() int {
	switch m {
	case AlwaysExecute:
		return 0
	case AlwaysAsk:
		return 2
	}
	return 1
}

// What to do when nobody answers an approval, and when the hub restarts.
const (
	OnTimeoutReject   = "reject"
	OnTimeoutFail     = "fail"
	OnRestartFail     = "fail"
	OnRestartContinue = "continue"
)

// TaskOptions are how a task is to run. Zero values are "not said".
type TaskOptions struct {
	Mode              Mode    `json:"mode,omitzero"`
	StreamDeltas      bool    `json:"stream_deltas,omitzero"`
	MaxTokens         int64   `json:"max_tokens,omitzero"`
	TimeoutMS         int64   `json:"timeout_ms,omitzero"`
	Agent             string  `json:"agent,omitzero"`
	ApprovalTimeoutMS int64   `json:"approval_timeout_ms,omitzero"`
	OnApprovalTimeout string  `json:"on_approval_timeout,omitzero"`
	BudgetUSD         float64 `json:"budget_usd,omitzero"`
	MaxSteps          int64   `json:"max_steps,omitzero"`
	Exclusive         bool    `json:"exclusive,omitzero"`
	OnRestart         string  `json:"on_restart,omitzero"`
	// Folder is where in the workspace the task works.
	Folder string `json:"folder,omitzero"`
}

// Timeout is how long the task may take, within the protocol's bounds.
func (o TaskOptions) Timeout() time.Duration {
	if o.TimeoutMS <= 0 {
		return TaskTimeout
	}
	if o.TimeoutMS >= MaxTaskTimeout.Milliseconds() {
		return MaxTaskTimeout
	}
	return time.Duration(o.TimeoutMS) * time.Millisecond
}

// ApprovalTimeout is how long an approval of the task waits: usual, if it does not say,
// or the protocol's default if that is 0.
func (o TaskOptions) ApprovalTimeout(usual time.Duration) time.Duration {
	if o.ApprovalTimeoutMS <= 0 {
		return cmp.Or(usual, ApprovalTimeout)
	}
	return min(max(time.Duration(o.ApprovalTimeoutMS)*time.Millisecond, MinApprovalTimeout), MaxApprovalTimeout)
}

// UnmarshalJSONFrom reads options one by one, so that each wrong one is named.
// What is null was not said.
func (o *TaskOptions) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var raw map[string]jsontext.Value
	if err := json.UnmarshalDecode(d, &raw); err != nil {
		return err
	}
	*o = TaskOptions{}
	r := optionReader{raw: raw}
	o.Mode = r.mode("mode")
	r.read("stream_deltas", &o.StreamDeltas, "true or false")
	r.positive("max_tokens", &o.MaxTokens)
	r.positive("timeout_ms", &o.TimeoutMS)
	r.positive("approval_timeout_ms", &o.ApprovalTimeoutMS)
	r.check("approval_timeout_ms", o.ApprovalTimeoutMS == 0 || o.ApprovalTimeoutMS >= MinApprovalTimeout.Milliseconds() &&
		o.ApprovalTimeoutMS <= MaxApprovalTimeout.Milliseconds(), "between 1000 and 2592000000")
	r.positive("max_steps", &o.MaxSteps)
	r.read("agent", &o.Agent, "a name")
	r.read("folder", &o.Folder, "a folder inside the workspace")
	r.check("folder", o.Folder == "" || len(o.Folder) <= 1024 && fs.ValidPath(o.Folder), "a folder inside the workspace, such as src/app")
	r.read("exclusive", &o.Exclusive, "true or false")
	r.read("budget_usd", &o.BudgetUSD, "a number above 0")
	r.check("budget_usd", !r.has("budget_usd") || o.BudgetUSD > 0 && !math.IsInf(o.BudgetUSD, 0), "a number above 0")
	r.oneOf("on_approval_timeout", &o.OnApprovalTimeout, OnTimeoutReject, OnTimeoutFail)
	r.oneOf("on_restart", &o.OnRestart, OnRestartFail, OnRestartContinue)
	if r.v != nil {
		return r.v
	}
	return nil
}

// optionReader reads options until the first that is wrong.
type optionReader struct {
	raw map[string]jsontext.Value
	v   *Violation
}

func (r *optionReader) has(name string) bool {
	v, ok := r.raw[name]
	return ok && v.Kind() != 'n'
}

func (r *optionReader) check(name string, ok bool, want string) {
	if !ok && r.v == nil {
		r.v = violation(ReasonBadOption, "/options/"+name, "options.%s is %s", name, want)
	}
}

func (r *optionReader) read(name string, into any, want string) {
	if r.has(name) {
		r.check(name, json.Unmarshal(r.raw[name], into) == nil, want)
	}
}

func (r *optionReader) positive(name string, into *int64) {
	r.read(name, into, "a positive integer")
	r.check(name, !r.has(name) || *into > 0, "a positive integer")
}

func (r *optionReader) oneOf(name string, into *string, a, b string) {
	r.read(name, into, a+" or "+b)
	r.check(name, !r.has(name) || *into == a || *into == b, a+" or "+b)
}

func (r *optionReader) mode(name string) Mode {
	if !r.has(name) {
		return ""
	}
	s, ok := textIn(r.raw[name])
	m, known := ParseMode(s)
	if (!ok || !known) && r.v == nil {
		r.v = violation(ReasonBadMode, "/options/mode", "mode is always_ask, agent_decides or always_execute")
	}
	return m
}
