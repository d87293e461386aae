package work_test

import (
	"context"
	"errors"
	"testing"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// A program submitted a task with its token, over MCP or REST, and said yes to whatever
// the task asked. A board, which is its person's own screen, answers with the token it has.
func TestAProgramDoesNotAnswerWhatItsOwnTaskAsks(t *testing.T) {
	h := newHub(t, sqlite(t))
	program := alice
	program.TokenID, program.Name, program.Where, program.Client = "token-program", "backup", identity.AtMCP, "some-client"
	sub, err := h.Submit(context.Background(), program, work.SubmitRequest{Key: newKey(), Submit: mode(goal(`/tool shell {"command":"touch x"}`, "/say y"), viber.AgentDecides)})
	if err != nil {
		t.Fatal(err)
	}
	r := h.follow(sub.Stream)
	asked := untilType[*viber.ApprovalRequired](r)
	answer := yes(asked.ApprovalID)
	for _, where := range []identity.Where{identity.AtMCP, identity.AtAPI} {
		program.Where = where
		if _, err := h.Answer(context.Background(), program, &answer); !errors.Is(err, work.ErrForbidden) {
			t.Errorf("the program that submitted the task answered at %s: %v", where, err)
		}
	}
	if who := asked.Asker; who == nil || who.Via != "token backup, MCP client some-client" || who.Person != "person:alice" || who.Where != "mcp" {
		t.Errorf("a board is told that %+v asks, want alice's token and client", who)
	}
	item, err := h.inbox.Get(context.Background(), alice, asked.ApprovalID)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := item.Asker.Words(), "token backup, MCP client some-client"; got != want {
		t.Errorf("whoever decides sees that it was asked by %q, want %q", got, want)
	}
	h.answer(alice, answer)
	r.completed()
}

// Whoever is asked is told whose words the run had read before.
func TestAQuestionSaysWhoseWordsTheRunHasRead(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal(`/tool shell {"command":"echo words"}`, `/tool shell {"command":"touch b"}`, "/say done"), viber.AlwaysAsk))
	first := untilType[*viber.ApprovalRequired](r)
	taints := []*approval.Taint{h.taintOf(first.ApprovalID)}
	h.answer(alice, yes(first.ApprovalID))
	second := untilType[*viber.ApprovalRequired](r)
	taints = append(taints, h.taintOf(second.ApprovalID))
	h.answer(alice, yes(second.ApprovalID))
	r.completed()
	if first.Tainted != nil || second.Tainted == nil || second.Tainted.By != "shell" || second.Tainted.Since.IsZero() {
		t.Errorf("a board is told %+v and then %+v of strangers' words; want nothing, and then the command's", first.Tainted, second.Tainted)
	}
	if taints[0] != nil {
		t.Errorf("the first question says it is tainted by %+v, and nothing had been read", taints[0])
	}
	if taints[1] == nil || taints[1].By != "shell" || taints[1].Since.IsZero() {
		t.Errorf("the second question does not say that a command's words were read: %+v", taints[1])
	}
}

func (h *hub) taintOf(id string) *approval.Taint {
	h.t.Helper()
	item, err := h.inbox.Get(context.Background(), alice, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return item.Taint
}
