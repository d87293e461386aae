package fleet

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/identity"
	"parley/protocol/kenny"
	"parley/protocol/kenny/health"
	"parley/protocol/kenny/policy"
)

// Surface is where a call comes from; it decides who is asked.
type Surface string

// The surfaces.
const (
	// SurfaceAgent is a hosted agent: S is asked once per run and tool, M always.
	SurfaceAgent Surface = "agent"
	// SurfaceMCP is a raw MCP client: M is asked unless the token is unattended.
	SurfaceMCP Surface = "mcp"
	// SurfacePage, SurfaceCLI and SurfaceAPI have asked the person themselves.
	SurfacePage Surface = "page"
	// SurfaceCLI is the command line.
	SurfaceCLI Surface = "cli"
	// SurfaceAPI is a script with a token.
	SurfaceAPI Surface = "api"
	// SurfaceHub is the hub itself: roll-outs, scheduled collection.
	SurfaceHub Surface = "hub"
)

// Caller is who asks.
type Caller struct {
	Session identity.Session
	Surface Surface
	// OnBehalf is the person an agent acts for; their inbox gets the questions.
	// Empty means the session's own principal.
	OnBehalf string
	// Task and Conversation name the hosted run the call belongs to, if any.
	Task, Conversation string
	// ApprovedBy is who said yes to exactly this call when the run asked; nobody is
	// asked again.
	ApprovedBy string
}

// CallRequest asks one machine to do one thing.
type CallRequest struct {
	// ID names the call; empty makes one. A repeated id is refused.
	ID      string
	Machine string
	Tool    string
	// Args are the tool's own arguments (not agent_id, queue_for_s); nil is {}.
	Args jsontext.Value
	// Timeout is how long the machine may take; 0 is the tool's usual time.
	Timeout time.Duration
	// QueueFor keeps the call that long for a machine that is away.
	QueueFor time.Duration
	// Approver asks in the surface's own way, where a person must be asked. It
	// may return [ErrAskInbox]. Nil asks in the inbox.
	Approver Approver
	// ApprovalWait is how long Call itself waits for the inbox before it answers
	// approval_pending and goes on by itself; 0 waits until it is decided.
	ApprovalWait time.Duration
	// OnAsk, where given, is told once that a question waits in the inbox.
	OnAsk func(Question)
}

// Approver asks a person. What it is shown is what will run.
type Approver interface {
	Approve(ctx context.Context, q Question) (Decision, error)
}

// Question is a call as a person sees it before it runs.
type Question struct {
	CallID string      `json:"call_id"`
	Class  kenny.Class `json:"class"`
	// Title is one sentence; Machines are the targets, Args exactly what will run.
	Title    string         `json:"title"`
	Machines []string       `json:"machines"`
	Tool     string         `json:"tool"`
	Args     jsontext.Value `json:"arguments"`
	// Digest is the SHA-256 of the canonical arguments.
	Digest string `json:"digest"`
	// ApprovalID names the inbox entry, where there is one.
	ApprovalID string `json:"approval_id,omitempty"`
}

// Decision is a person's answer.
type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
	// How tells the way it was asked: inbox, elicitation.
	How    string `json:"how"`
	Reason string `json:"reason,omitempty"`
}

// State is where a call stands.
type State string

// The states of a call. All but the first three are final.
const (
	StateAsking    State = "asking"
	StateQueued    State = "queued"
	StateSent      State = "sent"
	StateDone      State = "done"
	StateFailed    State = "failed"
	StateLost      State = "lost"
	StateExpired   State = "expired"
	StateCancelled State = "cancelled"
)

// Final reports whether nothing more will happen.
func (s State) Final() bool { return s != StateAsking && s != StateQueued && s != StateSent }

// CallResult is a finished call, or one that waits for its machine.
type CallResult struct {
	CallID  string
	Machine string
	Tool    string
	// State is done or queued.
	State State
	// Result is the machine's own object.
	Result   jsontext.Value
	Duration time.Duration
	// Expires is until when a queued call waits.
	Expires time.Time
}

// CallStatus is a call looked at later.
type CallStatus struct {
	CallID  string         `json:"call_id"`
	Machine string         `json:"agent_id"`
	Tool    string         `json:"tool"`
	State   State          `json:"state"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *CallError     `json:"error,omitempty"`
	Created time.Time      `json:"created_at"`
	Expires time.Time      `json:"expires_at,omitzero"`
}

// CallError is a failure as records keep it.
type CallError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// LogEntry is one row of the call log.
type LogEntry struct {
	CallID   string         `json:"call_id"`
	At       time.Time      `json:"at"`
	Machine  string         `json:"agent_id"`
	Tool     string         `json:"tool"`
	Class    kenny.Class    `json:"class"`
	Actor    string         `json:"actor"`
	OnBehalf string         `json:"on_behalf_of,omitempty"`
	Surface  Surface        `json:"surface"`
	TokenID  string         `json:"token_id,omitempty"`
	Address  string         `json:"address,omitempty"`
	Hub      string         `json:"hub"`
	Digest   string         `json:"digest"`
	Args     jsontext.Value `json:"arguments" doc:"with secrets masked"`
	Approval *Approval      `json:"approval,omitempty"`
	State    State          `json:"state"`
	Code     Code           `json:"code,omitempty"`
	Message  string         `json:"message,omitempty"`
	ExitCode *int           `json:"exit_code,omitempty"`
	// DurationMS counts from the frame to its answer, QueueMS from the request to
	// the frame.
	DurationMS   int64  `json:"duration_ms"`
	QueueMS      int64  `json:"queue_ms"`
	ResultSize   int64  `json:"result_size"`
	ResultDigest string `json:"result_digest,omitempty"`
}

// Approval is how a call was approved.
type Approval struct {
	ID  string `json:"id,omitempty"`
	By  string `json:"by"`
	How string `json:"how"`
}

// CallFilter chooses rows of the call log, newest first.
type CallFilter struct {
	Machine, Tool, Actor string
	States               []State
	Since, Until         time.Time
	// Cursor continues after a page; Limit is 200 if 0, at most 500.
	Cursor string
	Limit  int
}

// CallPage is a page of the call log.
type CallPage struct {
	Calls []LogEntry `json:"calls"`
	Next  string     `json:"next_cursor,omitempty"`
}

// FanRequest is one call on many machines.
type FanRequest struct {
	// Machines, Tag or All choose the targets; exactly one of them.
	Machines []string
	Tag      string
	All      bool
	Tool     string
	Args     jsontext.Value
	Timeout  time.Duration
	QueueFor time.Duration
	Approver Approver
	// Canary is how many machines go first; the rest only if all of them succeed.
	Canary int
	// Parallel is how many at a time; 0 is 8.
	Parallel int
	// StopOnError starts nothing more after the first failure.
	StopOnError bool
}

// FanItem is what became of one machine's share.
type FanItem struct {
	Machine string         `json:"agent_id"`
	CallID  string         `json:"call_id,omitempty"`
	State   State          `json:"state" doc:"done, queued, failed, or cancelled when it was never sent"`
	Canary  bool           `json:"canary,omitempty"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *CallError     `json:"error,omitempty"`
}

// FanResult has every target, in the order they were chosen, whatever happened.
type FanResult struct {
	Items   []FanItem `json:"items"`
	Done    int       `json:"done"`
	Failed  int       `json:"failed"`
	Stopped bool      `json:"stopped"`
}

// Presence is how a machine is connected.
type Presence string

// The presences. Only the first is online.
const (
	Online Presence = "online"
	// Off said goodbye, or never came.
	Off Presence = "off"
	// Reconnecting was cut a moment ago.
	Reconnecting Presence = "reconnecting"
	// Overdue should have been back by now.
	Overdue Presence = "overdue"
)

// Machine is a machine in a list.
type Machine struct {
	ID       string    `json:"agent_id"`
	Name     string    `json:"name,omitempty"`
	Hostname string    `json:"hostname"`
	Online   bool      `json:"online"`
	Presence Presence  `json:"presence"`
	LastSeen time.Time `json:"last_seen,omitzero"`
	Meta     Meta      `json:"meta"`
	// Overall is the worst counted section; Flagged are those unwell.
	Overall   kenny.Status `json:"overall"`
	Flagged   []string     `json:"flagged_sections"`
	Crit      []string     `json:"crit_sections"`
	Warn      []string     `json:"warn_sections"`
	Summary   string       `json:"summary,omitempty"`
	Collected time.Time    `json:"collected_at,omitzero"`
	Received  time.Time    `json:"received_at,omitzero"`
	// ClockOff: the machine's clock is more than five minutes off.
	ClockOff bool     `json:"clock_off,omitempty"`
	Tags     []string `json:"tags"`
	Enrolled bool     `json:"enrolled"`
	Mobile   bool     `json:"mobile"`
	// Control is where the switch of the person at the machine stands: on, ask,
	// off, private, or empty while nobody knows.
	Control     kenny.Control          `json:"control,omitempty"`
	Maintenance *Window                `json:"maintenance,omitempty"`
	Mutes       map[string]health.Mute `json:"mutes,omitempty"`
	Thresholds  Thresholds             `json:"thresholds,omitzero"`
	Connected   time.Time              `json:"connected_at,omitzero"`
	Hub         string                 `json:"hub,omitempty"`
	Created     time.Time              `json:"created_at"`
}

// Meta is what a machine tells about itself.
type Meta struct {
	Hostname string   `json:"hostname"`
	OS       kenny.OS `json:"os"`
	Version  string   `json:"version"`
	Arch     string   `json:"arch,omitempty"`
	// Control is where the local switch stands; empty while nobody knows.
	Control kenny.Control `json:"remote_control,omitempty"`
}

// Window is a time in which nothing about a machine is announced.
type Window struct {
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Thresholds are a machine's own times; zero means the usual one.
type Thresholds struct {
	// PingS and SilenceS replace 30 and 90 seconds.
	PingS    int `json:"ping_s,omitempty" minimum:"0" maximum:"3600"`
	SilenceS int `json:"silence_s,omitempty" minimum:"0" maximum:"86400"`
	// OverdueS is when an overdue machine raises a notice (900).
	OverdueS int `json:"overdue_s,omitempty" minimum:"0" maximum:"2592000"`
}

// ListQuery chooses machines.
type ListQuery struct {
	// Q is part of the id, name or hostname.
	Q        string
	Tag      string
	Presence Presence
	Overall  kenny.Status
	Cursor   string
	// Limit is 200 if 0, at most 1000.
	Limit int
}

// MachinePage is a page of machines.
type MachinePage struct {
	Machines []Machine
	Next     string
}

// Counts sums a fleet up.
type Counts struct {
	OK      int `json:"ok"`
	Warn    int `json:"warn"`
	Crit    int `json:"crit"`
	Unknown int `json:"unknown"`
	Online  int `json:"online"`
	Off     int `json:"off"`
	Overdue int `json:"overdue"`
}

// Overview is the fleet, worst first.
type Overview struct {
	Overall  kenny.Status `json:"overall"`
	Counts   Counts       `json:"counts"`
	Machines []Machine    `json:"agents"`
	Next     string       `json:"next_cursor,omitempty"`
}

// HealthReport is one machine, judged now.
type HealthReport struct {
	ID        string                    `json:"agent_id"`
	Collected time.Time                 `json:"collected_at,omitzero"`
	Received  time.Time                 `json:"received_at,omitzero"`
	Overall   kenny.Status              `json:"overall"`
	Sections  map[string]health.Verdict `json:"sections"`
}

// Snapshot is the newest telemetry of a machine; Sections is nil when there is
// none yet.
type Snapshot struct {
	ID        string                    `json:"agent_id"`
	Collected time.Time                 `json:"collected_at,omitzero"`
	Received  time.Time                 `json:"received_at,omitzero"`
	Sections  map[string]jsontext.Value `json:"snapshot"`
}

// HistoryQuery chooses points of a machine's past.
type HistoryQuery struct {
	// Metric is one of the kept series (disk_percent, memory_percent,
	// temperature_c, battery_health, wifi_percent, overall); Label one of its
	// lines (a volume). Section without Metric gives the section of every kept
	// snapshot.
	Section, Metric, Label string
	From, Until            time.Time
	Limit                  int
}

// Point is one value of a series. Min and Max differ from Value for days.
type Point struct {
	At    time.Time `json:"at"`
	Label string    `json:"label,omitempty"`
	Value float64   `json:"value"`
	Min   float64   `json:"min"`
	Max   float64   `json:"max"`
}

// Past is one earlier section.
type Past struct {
	At      time.Time      `json:"at"`
	Section jsontext.Value `json:"section"`
}

// History is a machine's past.
type History struct {
	ID       string  `json:"agent_id"`
	Section  string  `json:"section,omitempty"`
	Metric   string  `json:"metric,omitempty"`
	Points   []Point `json:"points,omitempty"`
	Sections []Past  `json:"sections,omitempty"`
}

// TrendDay is the fleet on one day, by the worst each machine was.
type TrendDay struct {
	Day  string   `json:"day"`
	OK   int      `json:"ok"`
	Warn int      `json:"warn"`
	Crit int      `json:"crit"`
	Bad  []string `json:"crit_members"`
	Poor []string `json:"warn_members"`
}

// EventQuery chooses events, newest first.
type EventQuery struct {
	Machine string
	// Source is hub or machine; Kind log or audit; empty is both.
	Source, Kind string
	// Level is the least grave one wanted; empty is all.
	Level        kenny.Level
	Since, Until time.Time
	Cursor       string
	Limit        int
}

// Event is something that happened around a machine, or a line of its log.
type Event struct {
	Seq     int64          `json:"seq"`
	At      time.Time      `json:"at" doc:"when the hub learned of it"`
	Sent    time.Time      `json:"sent_at,omitzero" doc:"the machine's own time"`
	Machine string         `json:"agent_id"`
	Source  string         `json:"source"`
	Kind    string         `json:"kind"`
	Level   kenny.Level    `json:"level"`
	Target  string         `json:"target"`
	Message string         `json:"message"`
	Fields  jsontext.Value `json:"fields,omitzero"`
}

// EventPage is a page of events.
type EventPage struct {
	Events []Event `json:"events"`
	Next   string  `json:"next_cursor,omitempty"`
}

// Edit changes a machine; nil leaves things as they are.
type Edit struct {
	Name        *string
	Tags        *[]string
	Mobile      *bool
	Thresholds  *Thresholds
	Maintenance *Window // a zero window ends it
	Mutes       *map[string]health.Mute
}

// MintRequest asks for a one-time enrolment token.
type MintRequest struct {
	Machine string
	// Rekey lets an enrolled machine take a new key; Grace is how long the old
	// one stays good (nil is seven days, 0 refuses it at once).
	Rekey bool
	Grace *time.Duration
	// TTL is how long the token is good (24 h, at most 30 d).
	TTL time.Duration
	// Legacy makes a bearer for endpoints without keys instead.
	Legacy bool
}

// Minted is a token, shown once.
type Minted struct {
	Machine         string    `json:"agent_id"`
	Token           string    `json:"token"`
	ServerPublicKey string    `json:"server_public_key"`
	URL             string    `json:"url"`
	Expires         time.Time `json:"expires_at"`
}

// EnrolRequest binds a key to an id with a one-time token.
type EnrolRequest struct {
	Machine, Token, PublicKey, Address string
}

// InstallLines is an installer link: one line per family of systems.
type InstallLines struct {
	Sh      string    `json:"sh"`
	PS1     string    `json:"ps1"`
	Expires time.Time `json:"expires_at"`
}

// Rules are the deny rules in force.
type Rules struct {
	Builtin  []RuleView `json:"builtin"`
	Operator []RuleView `json:"operator"`
	Revision int64      `json:"revision"`
}

// RuleView is a rule as people see it.
type RuleView struct {
	ID        string          `json:"id"`
	AppliesTo kenny.AppliesTo `json:"applies_to"`
	Class     string          `json:"class,omitempty"`
	Pattern   string          `json:"pattern"`
	Reason    string          `json:"reason"`
}

// RuleTest asks whether the mirror would refuse a call.
type RuleTest struct {
	OS   kenny.OS
	Tool string
	Args jsontext.Value
	// Rule, if given, is tried beside those in force.
	Rule *kenny.Rule
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

// BinaryUpload is a program with its signature.
type BinaryUpload struct {
	Platform, Version string
	// Signature is base64 Ed25519 over [kenny.ReleaseMessage]; Key the public key.
	Signature, Key string
	Body           io.Reader
}

// Updated is the answer of a single update.
type Updated struct {
	OK      bool           `json:"ok"`
	Version string         `json:"version"`
	SHA256  string         `json:"sha256"`
	Result  jsontext.Value `json:"result"`
}

// UpdateState is where an update stands.
type UpdateState string

// The states of one machine's update.
const (
	UpdateWaiting    UpdateState = "waiting"
	UpdateStaged     UpdateState = "staged"
	UpdateConnected  UpdateState = "connected"
	UpdateRolledBack UpdateState = "rolled_back"
	UpdateSilent     UpdateState = "silent"
	UpdateFailed     UpdateState = "failed"
	UpdateSkipped    UpdateState = "skipped"
)

// RolloutState is where a roll-out stands.
type RolloutState string

// The states of a roll-out.
const (
	RolloutRunning   RolloutState = "running"
	RolloutPaused    RolloutState = "paused"
	RolloutStopped   RolloutState = "stopped"
	RolloutCancelled RolloutState = "cancelled"
	RolloutDone      RolloutState = "done"
)

// Rollout updates many machines in waves of one, ten per cent, and the rest.
type Rollout struct {
	ID       string           `json:"id"`
	Version  string           `json:"version"`
	State    RolloutState     `json:"state"`
	Wave     int              `json:"wave"`
	Reason   string           `json:"reason,omitempty"`
	By       string           `json:"by"`
	Created  time.Time        `json:"created_at"`
	Machines []RolloutMachine `json:"machines"`
}

// RolloutMachine is one machine's share.
type RolloutMachine struct {
	ID    string      `json:"agent_id"`
	Wave  int         `json:"wave"`
	State UpdateState `json:"state"`
	Error string      `json:"error,omitempty"`
	row   string
}

// RolloutRequest starts a roll-out.
type RolloutRequest struct {
	Machines []string
	Tag      string
	All      bool
	// Version is that of the binaries; empty is the newest of each platform.
	Version string
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

// Change is news for whoever watches the fleet.
type Change struct {
	// Kind is machine (its row changed), call, event, removed.
	Kind    string   `json:"kind"`
	Machine string   `json:"agent_id"`
	View    *Machine `json:"agent,omitempty"`
	CallID  string   `json:"call_id,omitempty"`
	State   State    `json:"state,omitempty"`
}

// API is all a face needs; *Fleet is one. Errors are [*Error]s.
type API interface {
	// Call is the only way to a machine: scope → machine known → class and
	// system → arguments → mirror → approval → intent in the trail → tunnel →
	// outcome. It returns the machine's result, or a queued call.
	Call(ctx context.Context, who Caller, req CallRequest) (CallResult, error)
	// FanOut is Call on many machines, approved once.
	FanOut(ctx context.Context, who Caller, req FanRequest) (FanResult, error)
	CallStatus(ctx context.Context, who Caller, callID string) (CallStatus, error)
	// CancelCall ends a call that was not sent; of one that was, only the wait.
	CancelCall(ctx context.Context, who Caller, callID string) (CallStatus, error)
	Calls(ctx context.Context, who Caller, f CallFilter) (CallPage, error)
	// ExportCalls writes the call log as JSON lines, oldest first.
	ExportCalls(ctx context.Context, who Caller, f CallFilter, w io.Writer) error
	// Collect measures a machine now; a full collection is stored like a push.
	Collect(ctx context.Context, who Caller, machine string, sections []string) (CallResult, error)

	Overview(ctx context.Context, who Caller, q ListQuery) (Overview, error)
	Machines(ctx context.Context, who Caller, q ListQuery) (MachinePage, error)
	Machine(ctx context.Context, who Caller, id string) (Machine, error)
	Health(ctx context.Context, who Caller, id string) (HealthReport, error)
	// Snapshot gives the newest telemetry, or one section of it.
	Snapshot(ctx context.Context, who Caller, id, section string) (Snapshot, error)
	History(ctx context.Context, who Caller, id string, q HistoryQuery) (History, error)
	Trend(ctx context.Context, who Caller, days int) ([]TrendDay, error)
	Events(ctx context.Context, who Caller, q EventQuery) (EventPage, error)
	// Watch yields changes until ctx ends; a watcher that is too slow is cut.
	Watch(ctx context.Context, who Caller) iter.Seq2[Change, error]

	Create(ctx context.Context, who Caller, id, name string, tags []string) (Machine, error)
	Edit(ctx context.Context, who Caller, id string, e Edit) (Machine, error)
	Remove(ctx context.Context, who Caller, id string) error
	Mint(ctx context.Context, who Caller, req MintRequest) (Minted, error)
	InstallLink(ctx context.Context, who Caller, id string) (InstallLines, error)
	// Installer writes a zip with program, script and a fresh token.
	Installer(ctx context.Context, who Caller, id, platform string, w io.Writer) error

	Rules(ctx context.Context, who Caller) (Rules, error)
	AddRule(ctx context.Context, who Caller, r kenny.Rule) (Rules, error)
	RemoveRule(ctx context.Context, who Caller, id string) (removed bool, err error)
	TestRule(ctx context.Context, who Caller, t RuleTest) (policy.Rule, bool, error)

	Binaries(ctx context.Context, who Caller) ([]Binary, error)
	AddBinary(ctx context.Context, who Caller, up BinaryUpload) (Binary, error)
	Update(ctx context.Context, who Caller, machine, version string) (Updated, error)
	Rollouts(ctx context.Context, who Caller) ([]Rollout, error)
	StartRollout(ctx context.Context, who Caller, req RolloutRequest) (Rollout, error)
	// SteerRollout pauses, resumes or cancels.
	SteerRollout(ctx context.Context, who Caller, id string, to RolloutState) (Rollout, error)

	TakeScreenshot(ctx context.Context, who Caller, id string) (Screenshot, error)
	Screenshots(ctx context.Context, who Caller, id string) ([]Screenshot, error)
	ScreenshotPNG(ctx context.Context, who Caller, id string, n int64) ([]byte, error)
	RemoveScreenshot(ctx context.Context, who Caller, id string, n int64) error
}

// Tools is the catalogue of what machines can do, in the order people should
// see it: schemas, classes, systems, hints.
func Tools() []kenny.Tool { return kenny.Tools() }
