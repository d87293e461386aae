package rest

import (
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kenny"
)

const lookAgain = "and GET /api/fleet/calls/{call_id} tells how it goes on"

// What is done on machines.
var (
	CallMachine      = Post[MachineCall, CallAnswer]("/api/machines/{id}/calls", "Do something on a machine: {tool, args, timeout_s?, queue_for_s?, approval_wait_s?}; needs the scope of the tool's class. 202 with state queued, or asking: a person must say yes first, "+lookAgain)
	CollectMachine   = Post[Collection, CallAnswer]("/api/machines/{id}/collect", "Measure a machine now: {sections?}")
	CallMachines     = Post[FanOut, FanAnswer]("/api/fleet/calls", "One call on many machines: {machines? | tag? | all?, tool, args, canary?, parallel?, stop_on_error?, approval_wait_s?}. 202 with state asking: one question for all of them, "+lookAgain)
	ListCalls        = Get[CallQuery, Calls]("/api/fleet/calls", "The call log, newest first; query: machine, tool, actor, state, since, until, limit, cursor, format=jsonl")
	ListMachineCalls = Get[MachineCallQuery, Calls]("/api/machines/{id}/calls", "The call log of a machine")
	GetCall          = Get[CallID, CallStatus]("/api/fleet/calls/{call_id}", "How a call stands")
	CancelCall       = Delete[CallID, CallStatus]("/api/fleet/calls/{call_id}", "Cancel a call")
	ListScreenshots  = Get[ByID, Screenshots]("/api/machines/{id}/screenshots", "Pictures of a machine's screen, newest first")
	TakeScreenshot   = Post[ByID, Screenshot]("/api/machines/{id}/screenshots", "Take one")
	ScreenshotImage  = Get[PictureName, None]("/api/machines/{id}/screenshots/{file}", "A picture: N.png, or latest.png").As("image/png")
	RemoveScreenshot = Delete[PictureName, Done]("/api/machines/{id}/screenshots/{file}", "Delete a picture: N.png")
	ListRules        = Get[None, Rules]("/api/fleet/policy/rules", "The deny rules in force: {builtin, operator, revision}")
	AddRule          = Post[kenny.Rule, Rules]("/api/fleet/policy/rules", "Add a rule, or replace that of the same id: {id, applies_to, pattern, reason}")
	RemoveRule       = Delete[ByID, Removed]("/api/fleet/policy/rules/{id}", "Remove a rule; a missing one is no error")
	TestRule         = Post[RuleTest, RuleVerdict]("/api/fleet/policy/test", "Would a call be refused: {os, tool, args, rule?}")
	UpdateMachine    = Post[UpdateRequest, Updated]("/api/machines/{id}/update", "Update one machine's endpoint: {version?}")
	ListRollouts     = Get[None, Rollouts]("/api/fleet/updates", "Roll-outs, newest first")
	StartRollout     = Post[RolloutRequest, Rollout]("/api/fleet/updates", "Start a roll-out: {machines? | tag? | all?, version?}")
	SteerRollout     = Patch[RolloutSteering, Rollout]("/api/fleet/updates/{id}", "Pause, resume or cancel: {state: paused | running | cancelled}")
	ListBinaries     = Get[None, Binaries]("/api/fleet/binaries", "Endpoint programs this hub hands out")
	AddBinary        = Post[BinaryUpload, Binary]("/api/fleet/binaries", "Add one: the program as body; query: platform, version, signature, public_key").Created()
)

// CallState is where a call stands.
type CallState string

// The states of a call. All but the first three are final.
const (
	StateAsking    CallState = "asking"
	StateQueued    CallState = "queued"
	StateSent      CallState = "sent"
	StateDone      CallState = "done"
	StateFailed    CallState = "failed"
	StateLost      CallState = "lost"
	StateExpired   CallState = "expired"
	StateCancelled CallState = "cancelled"
)

// Final reports whether nothing more will happen.
func (s CallState) Final() bool { return s != StateAsking && s != StateQueued && s != StateSent }

// MachineCall is something to do on a machine.
type MachineCall struct {
	ID   string `path:"id"`
	Body Call
}

// Call is a tool with its arguments.
type Call struct {
	Tool      string         `json:"tool"`
	Args      jsontext.Value `json:"args,omitempty"`
	TimeoutS  int64          `json:"timeout_s,omitempty"`
	QueueForS int64          `json:"queue_for_s,omitempty"`
	// ApprovalWaitS is how long the hub waits for a person's yes, where one is
	// needed, before it answers that it asks; nil leaves it to the hub.
	ApprovalWaitS *int64 `json:"approval_wait_s,omitempty"`
}

// CallAnswer is what became of it. State is queued for one that waits for its
// machine, asking for one that waits for a person's yes to the question ApprovalID;
// GetCall tells how either goes on.
type CallAnswer struct {
	OK         bool           `json:"ok"`
	CallID     string         `json:"call_id"`
	State      CallState      `json:"state,omitempty" enum:"asking,queued"`
	Code       kenny.Code     `json:"code,omitempty"`
	Message    string         `json:"message,omitempty"`
	ApprovalID string         `json:"approval_id,omitempty"`
	Result     jsontext.Value `json:"result,omitzero"`
	Expires    time.Time      `json:"expires_at,omitzero"`
	DurationMS *int64         `json:"duration_ms,omitempty"`
}

// Collection measures some sections, or all.
type Collection struct {
	ID   string `path:"id"`
	Body Sections
}

// Sections names some.
type Sections struct {
	Sections []string `json:"sections,omitempty"`
}

// FanOut is one call on many machines.
type FanOut struct {
	Machines []string `json:"machines,omitempty"`
	Tag      string   `json:"tag,omitempty"`
	All      bool     `json:"all,omitempty"`
	Call
	Canary      int  `json:"canary,omitempty"`
	Parallel    int  `json:"parallel,omitempty"`
	StopOnError bool `json:"stop_on_error,omitempty"`
}

// FanItem is what became of the call on one machine.
type FanItem struct {
	Machine string         `json:"agent_id"`
	CallID  string         `json:"call_id,omitempty"`
	State   CallState      `json:"state" doc:"done, queued, failed, or cancelled when it was never sent"`
	Canary  bool           `json:"canary,omitempty"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *CallError     `json:"error,omitempty"`
}

// FanResult is what became of a call on many machines.
type FanResult struct {
	Items   []FanItem `json:"items"`
	Done    int       `json:"done"`
	Failed  int       `json:"failed"`
	Stopped bool      `json:"stopped"`
	// Shortened: results were left out, because the record would have been too large.
	Shortened bool `json:"shortened,omitempty"`
}

// FanAnswer is that result, or which question is asked first.
type FanAnswer struct {
	*FanResult
	*CallAnswer
}

// CallError is a failure as records keep it.
type CallError struct {
	Code    kenny.Code `json:"code"`
	Message string     `json:"message"`
}

// CallID names a call.
type CallID struct {
	ID string `path:"call_id"`
}

// CallStatus is a call looked at later.
type CallStatus struct {
	CallID  string         `json:"call_id"`
	Machine string         `json:"agent_id"`
	Tool    string         `json:"tool"`
	State   CallState      `json:"state"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *CallError     `json:"error,omitempty"`
	Created time.Time      `json:"created_at"`
	Expires time.Time      `json:"expires_at,omitzero"`
}

// CallQuery chooses rows of the call log.
type CallQuery struct {
	Machine string    `query:"machine"`
	Tool    string    `query:"tool"`
	Actor   string    `query:"actor"`
	States  []string  `query:"state"`
	Since   time.Time `query:"since"`
	Until   time.Time `query:"until"`
	Limit   int       `query:"limit" doc:"200 if left out, at most 500"`
	Cursor  string    `query:"cursor"`
	Format  string    `query:"format" enum:"jsonl" doc:"all of it, as JSON lines"`
}

// MachineCallQuery chooses rows of one machine.
type MachineCallQuery struct {
	ID string `path:"id"`
	CallQuery
}

// LoggedCall is one row of the call log.
type LoggedCall struct {
	CallID   string         `json:"call_id"`
	At       time.Time      `json:"at"`
	Machine  string         `json:"agent_id"`
	Tool     string         `json:"tool"`
	Class    kenny.Class    `json:"class"`
	Actor    string         `json:"actor"`
	OnBehalf string         `json:"on_behalf_of,omitempty"`
	Surface  string         `json:"surface"`
	TokenID  string         `json:"token_id,omitempty"`
	Address  string         `json:"address,omitempty"`
	Hub      string         `json:"hub"`
	Digest   string         `json:"digest"`
	Args     jsontext.Value `json:"arguments" doc:"with secrets masked"`
	Approval *CallApproval  `json:"approval,omitempty"`
	State    CallState      `json:"state"`
	Code     kenny.Code     `json:"code,omitempty"`
	Message  string         `json:"message,omitempty"`
	ExitCode *int           `json:"exit_code,omitempty"`
	// DurationMS counts from the frame to its answer, QueueMS from the request to
	// the frame.
	DurationMS   int64  `json:"duration_ms"`
	QueueMS      int64  `json:"queue_ms"`
	ResultSize   int64  `json:"result_size"`
	ResultDigest string `json:"result_digest,omitempty"`
}

// CallApproval is how a call was approved.
type CallApproval struct {
	ID  string `json:"id,omitempty"`
	By  string `json:"by"`
	How string `json:"how"`
}

// Calls is a page of the call log.
type Calls struct {
	Calls []LoggedCall `json:"calls"`
	Next  string       `json:"next_cursor,omitempty"`
}

// Screenshot is one picture of a machine's screen.
type Screenshot struct {
	N      int64     `json:"n"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Width  int       `json:"width"`
	Height int       `json:"height"`
	Size   int       `json:"size"`
	CallID string    `json:"call_id"`
}

// Screenshots is a list of them.
type Screenshots struct {
	Screenshots []Screenshot `json:"screenshots"`
}

// PictureName names a picture of a machine.
type PictureName struct {
	ID   string `path:"id"`
	File string `path:"file"`
}

// Rules are the deny rules in force.
type Rules struct {
	Builtin  []Rule `json:"builtin"`
	Operator []Rule `json:"operator"`
	Revision int64  `json:"revision"`
}

// Rule is a rule as people see it.
type Rule struct {
	ID        string          `json:"id"`
	AppliesTo kenny.AppliesTo `json:"applies_to"`
	Class     string          `json:"class,omitempty"`
	Pattern   string          `json:"pattern"`
	Reason    string          `json:"reason"`
}

// RuleTest asks whether a call would be refused; Rule, if given, is tried beside those in force.
type RuleTest struct {
	OS   kenny.OS       `json:"os"`
	Tool string         `json:"tool"`
	Args jsontext.Value `json:"args,omitempty"`
	Rule *kenny.Rule    `json:"rule,omitempty"`
}

// RuleVerdict tells whether, and by which rule.
type RuleVerdict struct {
	Blocked bool   `json:"blocked"`
	Message string `json:"message,omitempty"`
	Rule    *Rule  `json:"rule,omitempty"`
}

// UpdateRequest updates one machine.
type UpdateRequest struct {
	ID   string `path:"id"`
	Body Version
}

// Version is that of a program; empty is the newest.
type Version struct {
	Version string `json:"version,omitempty"`
}

// Updated is a machine that has its new program.
type Updated struct {
	OK      bool           `json:"ok"`
	Version string         `json:"version"`
	SHA256  string         `json:"sha256"`
	Result  jsontext.Value `json:"result"`
}

// RolloutRequest starts a roll-out; an empty version is the newest of each platform.
type RolloutRequest struct {
	Machines []string `json:"machines,omitempty"`
	Tag      string   `json:"tag,omitempty"`
	All      bool     `json:"all,omitempty"`
	Version  string   `json:"version,omitempty"`
}

// RolloutSteering pauses, resumes or cancels one.
type RolloutSteering struct {
	ID   string `path:"id"`
	Body RolloutChange
}

// RolloutChange is where a roll-out is to go.
type RolloutChange struct {
	State string `json:"state" enum:"paused,running,cancelled"`
}

// Rollout is an update of many machines.
type Rollout struct {
	ID       string           `json:"id"`
	Version  string           `json:"version"`
	State    string           `json:"state"`
	Wave     int              `json:"wave"`
	Reason   string           `json:"reason,omitempty"`
	By       string           `json:"by"`
	Created  time.Time        `json:"created_at"`
	Machines []RolloutMachine `json:"machines"`
}

// RolloutMachine is one machine's share.
type RolloutMachine struct {
	ID    string `json:"agent_id"`
	Wave  int    `json:"wave"`
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// Rollouts is a list of them.
type Rollouts struct {
	Updates []Rollout `json:"updates"`
}

// Binary is an endpoint program the hub can hand out.
type Binary struct {
	Platform string    `json:"platform" doc:"os-arch, such as linux-amd64"`
	Version  string    `json:"version"`
	SHA256   string    `json:"sha256"`
	Size     int64     `json:"size"`
	Key      string    `json:"public_key" doc:"the release key that signed it"`
	Added    time.Time `json:"added_at"`
}

// Binaries is a list of them.
type Binaries struct {
	Binaries []Binary `json:"binaries"`
}

// BinaryUpload is a program with its signature.
type BinaryUpload struct {
	Platform  string    `query:"platform"`
	Version   string    `query:"version"`
	Signature string    `query:"signature"`
	Key       string    `query:"public_key"`
	Body      io.Reader `contentType:"application/octet-stream"`
}
