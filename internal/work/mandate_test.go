package work_test

import (
	"context"
	"encoding/json"
	"testing"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// machineTool asks by itself, of whom may use machines, unless the run may act unasked.
func machineTool(calls chan tool.Call) *tool.Tool {
	return &tool.Tool{
		Name: "reboot", Class: tool.Mutating, Asks: true, Description: "reboots", Schema: json.RawMessage(`{"type":"object"}`),
		Consent: func(c tool.Call) tool.Consent {
			return tool.Consent{
				Asks:   !c.Actor.Scopes.Has(identity.FleetUnattended),
				Policy: approval.Policy{Right: &approval.Right{Scope: identity.FleetCall, Machines: []approval.Machine{{ID: "pc"}}}},
			}
		},
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			calls <- c
			return tool.Result{Text: "ok"}, nil
		},
	}
}

func withMachine(calls chan tool.Call) option {
	return withDeps(func(d *work.Deps) {
		d.Tools = func(context.Context, work.ToolScope) ([]*tool.Tool, error) {
			return []*tool.Tool{machineTool(calls)}, nil
		}
	})
}

// holding is alice with a token of these scopes.
func holding(token string, scopes ...string) identity.Actor {
	s := alice
	s.TokenID, s.Scopes = token, identity.Expand(scopes...)
	return s
}

// A task acts with what its submitter has; whoever speaks to it later can take from
// that and never add to it.
func TestWordsOfOthersOnlyNarrowATask(t *testing.T) {
	calls := make(chan tool.Call) // a call waits here until it is looked at, and its task with it
	h := newHub(t, sqlite(t), withMachine(calls))
	strong := holding("strong", "task", "fleet", "fleet:unattended")
	r := h.submitKey(strong, newKey(), mode(goal("/tool reboot", "/say done"), viber.AgentDecides))
	follow := func(who identity.Actor) {
		t.Helper()
		_, err := h.Message(t.Context(), who, work.MessageRequest{Task: r.id, Mode: viber.Followup, Message: viber.ChatMessage{Role: viber.RoleUser, Content: "/tool reboot\n/say done"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	follow(holding("weak", "task", "fleet:call"))
	follow(strong)
	if c := <-calls; !c.Actor.Scopes.Has(identity.FleetUnattended) || c.Actor.TokenID != "strong" {
		t.Errorf("the submitter's own words act with %q of %q", c.Actor.Scopes, c.Actor.TokenID)
	}
	for _, whose := range []string{"a weaker token's words", "the submitter's words after those"} {
		asked := untilType[*viber.ApprovalRequired](r)
		h.answer(holding("page", "approvals", "fleet"), yes(asked.ApprovalID))
		if c := <-calls; c.Actor.Scopes.String() != "fleet:call" {
			t.Errorf("%s act with %q, want fleet:call", whose, c.Actor.Scopes)
		}
	}
	r.completed()
}

// A task's question about a machine is answered by whoever could do it themselves,
// and not by the token that submitted the task.
func TestATasksQuestionNeedsTheRightToWhatIsAsked(t *testing.T) {
	calls := make(chan tool.Call, 4)
	h := newHub(t, sqlite(t), withMachine(calls))
	r := h.submitKey(holding("asker", "task", "fleet", "approvals"), newKey(), mode(goal("/tool reboot", "/say done"), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	for name, who := range map[string]identity.Actor{
		"the submitting token":        holding("asker", "approvals", "fleet"),
		"a token without machines":    holding("phone", "approvals"),
		"a token for another machine": holding("other", "approvals", "fleet", "machine:other"),
	} {
		answer := yes(asked.ApprovalID)
		if _, err := h.Answer(t.Context(), who, &answer); err == nil {
			t.Errorf("%s answered", name)
		}
	}
	if len(calls) > 0 {
		t.Error("it ran before it was approved")
	}
	h.answer(holding("page", "approvals", "fleet", "machine:pc"), yes(asked.ApprovalID))
	if c := <-calls; c.ApprovedBy != "person:alice" {
		t.Errorf("approved by %q, want person:alice", c.ApprovedBy)
	}
	r.completed()
}
