package fleet

import (
	"context"
	"io"
	"iter"

	"parley.internal/internal/approval"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/policy"
)

// API is all a face needs; *Fleet is one. Errors are [*Error]s.
type API interface {
	// Call is the only way to a machine: scope → machine known → class and
	// system → arguments → mirror → approval → intent in the trail → tunnel →
	// outcome. It returns the machine's result, or a queued call.
	Call(ctx context.Context, who identity.Actor, req call.Request) (call.Result, error)
	// WouldAsk tells whether Call would ask a person first, and who could answer.
	WouldAsk(who identity.Actor, req call.Request) (approval.Policy, bool)
	// WouldRefuse is why Call would refuse a call without asking anybody, which is then on record; nil if it would not.
	WouldRefuse(who identity.Actor, req call.Request) error
	// Declined records a call that a run asked about in place of Call and that may not run.
	Declined(who identity.Actor, req call.Request, why error)
	// FanOut is Call on many machines, approved once.
	FanOut(ctx context.Context, who identity.Actor, req FanRequest) (FanResult, error)
	CallStatus(ctx context.Context, who identity.Actor, callID string) (call.Status, error)
	// CancelCall ends a call that was not sent; of one that was, only the wait.
	CancelCall(ctx context.Context, who identity.Actor, callID string) (call.Status, error)
	Calls(ctx context.Context, who identity.Actor, f call.Filter) (call.Page, error)
	// ExportCalls writes the call log as JSON lines, oldest first.
	ExportCalls(ctx context.Context, who identity.Actor, f call.Filter, w io.Writer) error
	// Collect measures a machine now; a full collection is stored like a push.
	Collect(ctx context.Context, who identity.Actor, machine string, sections []string) (call.Result, error)

	Overview(ctx context.Context, who identity.Actor, q ListQuery) (Overview, error)
	Machines(ctx context.Context, who identity.Actor, q ListQuery) (MachinePage, error)
	Machine(ctx context.Context, who identity.Actor, id string) (Machine, error)
	Health(ctx context.Context, who identity.Actor, id string) (HealthReport, error)
	// Snapshot gives the newest telemetry, or one section of it.
	Snapshot(ctx context.Context, who identity.Actor, id, section string) (telemetry.Snapshot, error)
	History(ctx context.Context, who identity.Actor, id string, q telemetry.HistoryQuery) (telemetry.History, error)
	Trend(ctx context.Context, who identity.Actor, days int) ([]telemetry.TrendDay, error)
	Events(ctx context.Context, who identity.Actor, q telemetry.EventQuery) (telemetry.EventPage, error)
	// Watch yields changes until ctx ends; a watcher that is too slow is cut.
	Watch(ctx context.Context, who identity.Actor) iter.Seq2[Change, error]

	Create(ctx context.Context, who identity.Actor, id, name string, tags []string) (Machine, error)
	Edit(ctx context.Context, who identity.Actor, id string, e Edit) (Machine, error)
	Remove(ctx context.Context, who identity.Actor, id string) error
	Mint(ctx context.Context, who identity.Actor, req MintRequest) (Minted, error)
	InstallLink(ctx context.Context, who identity.Actor, id string) (InstallLines, error)
	// Installer writes a zip with program, script and a fresh token.
	Installer(ctx context.Context, who identity.Actor, id, platform string, w io.Writer) error

	Rules(ctx context.Context, who identity.Actor) (Rules, error)
	AddRule(ctx context.Context, who identity.Actor, r kenny.Rule) (Rules, error)
	RemoveRule(ctx context.Context, who identity.Actor, id string) (removed bool, err error)
	TestRule(ctx context.Context, who identity.Actor, t RuleTest) (policy.Rule, bool, error)

	Binaries(ctx context.Context, who identity.Actor) ([]update.Binary, error)
	AddBinary(ctx context.Context, who identity.Actor, up update.Upload) (update.Binary, error)
	Update(ctx context.Context, who identity.Actor, machine, version string) (update.Updated, error)
	Rollouts(ctx context.Context, who identity.Actor) ([]update.Rollout, error)
	StartRollout(ctx context.Context, who identity.Actor, req update.RolloutRequest) (update.Rollout, error)
	// SteerRollout pauses, resumes or cancels.
	SteerRollout(ctx context.Context, who identity.Actor, id string, to update.RolloutState) (update.Rollout, error)

	TakeScreenshot(ctx context.Context, who identity.Actor, req call.Request) (Screenshot, error)
	Screenshots(ctx context.Context, who identity.Actor, id string) ([]Screenshot, error)
	ScreenshotPNG(ctx context.Context, who identity.Actor, id string, n int64) ([]byte, error)
	RemoveScreenshot(ctx context.Context, who identity.Actor, id string, n int64) error
}

// Tools is the catalogue of what machines can do, in the order people should
// see it: schemas, classes, systems, hints.
func Tools() []kenny.Tool { return kenny.Tools() }
