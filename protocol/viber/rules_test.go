package viber_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/viber"
)

func TestEachRequestNeedsItsScope(t *testing.T) {
	want := map[viber.Type]viber.Scope{
		viber.TypeTaskSubmit: viber.ScopeTaskSubmit, viber.TypeTaskStop: viber.ScopeTaskControl, viber.TypeTaskMessage: viber.ScopeTaskControl,
		viber.TypeTaskResume: viber.ScopeTaskRead, viber.TypeTaskUnsubscribe: viber.ScopeTaskRead, viber.TypeTaskList: viber.ScopeTaskRead,
		viber.TypeApprovalResponse: viber.ScopeApprovalRespond, viber.TypeApprovalList: viber.ScopeApprovalRead,
		viber.TypeTerminalList: viber.ScopeTerminalRead, viber.TypeTerminalAttach: viber.ScopeTerminalRead, viber.TypeTerminalDetach: viber.ScopeTerminalRead,
		viber.TypeTerminalInput: viber.ScopeTerminalWrite, viber.TypeTerminalResize: viber.ScopeTerminalWrite,
		viber.TypeTerminalCreate: viber.ScopeTerminalCreate, viber.TypeTerminalClose: viber.ScopeTerminalCreate,
	}
	free := []viber.Type{
		viber.TypeAuth, viber.TypeRefresh, viber.TypeTokenRotate, viber.TypeClose, viber.TypeGoodbye,
		viber.TypePing, viber.TypePong, viber.TypeHealthPing, viber.TypeHealthPong,
	}
	for _, typ := range viber.ClientTypes() {
		if got := viber.ScopeFor(typ); got != want[typ] || got == "" && !slices.Contains(free, typ) {
			t.Errorf("%s needs %q, want %q", typ, got, want[typ])
		}
	}
}

func typesThat(is func(viber.Type) bool) []viber.Type {
	return slices.DeleteFunc(viber.ClientTypes(), func(t viber.Type) bool { return !is(t) })
}

func TestFewRequestsHavePrivileges(t *testing.T) {
	heartbeats := []viber.Type{viber.TypeHealthPing, viber.TypeHealthPong, viber.TypePing, viber.TypePong}
	early := append([]viber.Type{viber.TypeAuth, viber.TypeClose, viber.TypeGoodbye}, heartbeats...)
	if diff := cmp.Diff(early, typesThat(viber.AllowedBeforeAuth)); diff != "" {
		t.Error(diff)
	}
	uncounted := append(append([]viber.Type{viber.TypeApprovalResponse}, heartbeats...), viber.TypeTerminalInput)
	if diff := cmp.Diff(uncounted, typesThat(func(t viber.Type) bool { return !viber.RateCounted(t) })); diff != "" {
		t.Error(diff)
	}
	if !viber.RateCounted("task:fly") || viber.AllowedBeforeAuth("task:fly") {
		t.Error("an unknown type has privileges")
	}
}

func TestExtensionsNeedTheirCapability(t *testing.T) {
	for typ, want := range map[viber.Type]viber.Capability{
		viber.TypeTaskSubmit: "", viber.TypeTaskMessage: "", viber.TypeHealthPing: "",
		viber.TypeTaskResume: viber.CapResume, viber.TypeTaskUnsubscribe: viber.CapResume, viber.TypeTaskList: viber.CapTaskList,
		viber.TypeApprovalList: viber.CapApprovalResolved, viber.TypeTerminalCreate: viber.CapTerminalCreate,
		viber.TypeTerminalClose: viber.CapTerminalCreate, viber.TypeRefresh: viber.CapRefresh, viber.TypeTokenRotate: viber.CapRefresh,
		viber.TypeTerminalAttach: viber.CapTerminal, viber.TypeApprovalResponse: viber.CapApproval,
	} {
		if got := viber.NeedsCapability(typ); got != want {
			t.Errorf("%s needs %q, want %q", typ, got, want)
		}
	}
	w := viber.Welcome{Capabilities: viber.Capabilities()}
	if len(w.Capabilities) != 10 || !w.Has(viber.CapTakeover) || w.Has("flight") {
		t.Errorf("w.Capabilities is %v; want len(w.Capabilities) to be 10, w.Has(viber.CapTakeover), not w.Has(\"flight\")", w.Capabilities)
	}
}

func TestThereAreNineCodes(t *testing.T) {
	want := []viber.Code{
		"auth_failed", "invalid_token", "rate_limited", "protocol_error", "task_not_found",
		"already_running", "budget_exceeded", "approval_timeout", "internal_error",
	}
	if diff := cmp.Diff(want, viber.Codes()); diff != "" {
		t.Error(diff)
	}
}

func TestCloseCodesTellWhetherToComeBack(t *testing.T) {
	for code, want := range map[viber.CloseCode]bool{
		1000: true, 1001: true, 1006: true, 1009: true, 1011: true, 4013: true, 4408: true, 4429: true,
		4400: false, 4401: false, 4403: false, 4409: false,
	} {
		if code.Reconnect() != want {
			t.Errorf("%d: %v; want code.Reconnect() to be %v", code, !want, want)
		}
	}
}

func TestModesHaveAliasesAndAnOrder(t *testing.T) {
	for in, want := range map[string]viber.Mode{
		"": "", "always_ask": viber.AlwaysAsk, "always-ask": viber.AlwaysAsk, "agent_decides": viber.AgentDecides,
		"viber_decides": viber.AgentDecides, "viber-decides": viber.AgentDecides, "always-execute": viber.AlwaysExecute,
	} {
		if got, ok := viber.ParseMode(in); !ok || got != want {
			t.Errorf("%q is %q, %v", in, got, ok)
		}
	}
	if _, ok := viber.ParseMode("ALWAYS_ASK"); ok {
		t.Error("modes are lower-case")
	}
	order := []viber.Mode{viber.AlwaysExecute, viber.AgentDecides, viber.AlwaysAsk}
	for i, m := range order {
		if m.Strictness() != i {
			t.Errorf("%s: %d; want m.Strictness() to be %v", m, m.Strictness(), i)
		}
	}
}

func TestAnswersAboutRequestsEndNothing(t *testing.T) {
	for _, e := range []*viber.TaskError{viber.NewTaskNotFound("t"), viber.NewTaskFinished("t"), viber.NewAlreadyRunning("t", "k")} {
		if viber.Ends(e) || e.TaskID != "t" || e.Final == nil || e.Seq != 0 || !slices.Contains(viber.Codes(), e.Error.Type) {
			t.Errorf("%+v", e)
		}
	}
	failed := viber.NewTaskFailure("t", viber.ErrorInfo{Type: viber.CodeTimeout}, "", viber.NewUsage(1, 2, nil))
	if !viber.Ends(failed) || failed.PartialResult == nil || failed.Usage.TotalTokens != 3 {
		t.Errorf("%+v; want viber.Ends(failed), failed.PartialResult not to be nil, failed.Usage.TotalTokens to be 3", failed)
	}
	base := &viber.TaskError{Error: viber.ErrorInfo{Type: viber.CodeInternalError}}
	if !viber.Ends(base) || viber.Ends(&viber.TaskProgress{}) || !viber.Ends(&viber.TaskStopped{}) {
		t.Error("a base server's failure ends its task")
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	scope := viber.NewInsufficientScope(viber.ScopeTaskSubmit, nil)
	if scope.Details.Granted == nil || scope.Details.Required[0] != "task:submit" || scope.Code != viber.CodeAuthFailed {
		t.Errorf("%+v; want scope.Details.Granted not to be nil, scope.Details.Required[0] to be \"task:submit\", scope.Code to be %v", scope.Details, viber.CodeAuthFailed)
	}
	for wait, want := range map[time.Duration]int64{0: 1, time.Microsecond: 1, time.Second: 1000, 1500*time.Microsecond + 1: 2} {
		if e := viber.NewRateLimited(viber.ReasonQueueFull, "", wait); e.RetryAfterMS != want {
			t.Errorf("%v: %d; want e.RetryAfterMS to be %v", wait, e.RetryAfterMS, want)
		}
	}
	if e := viber.NewTerminalError("x", viber.TerminalNotFound, ""); e.Error.Message == "" || e.Error.Recoverable {
		t.Errorf("%+v; want e.Error.Message not to be \"\", not e.Error.Recoverable", e)
	}
	if v := viber.FrameTooLarge(5); v.Close != viber.CloseTooLarge || v.Reason != viber.ReasonTooLarge || v.Limit != 5 {
		t.Errorf("%+v; want v.Close to be %v, v.Reason to be %v, v.Limit to be 5", v, viber.CloseTooLarge, viber.ReasonTooLarge)
	}
	if v := viber.BinaryFrame(); v.Reason != viber.ReasonBinaryFrame || v.Close != 0 {
		t.Errorf("%+v; want v.Reason to be %v, v.Close to be 0", v, viber.ReasonBinaryFrame)
	}
}
