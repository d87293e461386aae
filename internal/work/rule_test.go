package work_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge/rule"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// folk are people whose right to make rules stands.
type folk struct{}

func (folk) Standing(_ context.Context, a identity.Actor) (identity.Actor, error) { return a, nil }
func (folk) Lasting(_ context.Context, a identity.Actor) (identity.Actor, error)  { return a, nil }
func (folk) Person(context.Context, string) (identity.Person, error) {
	return identity.Person{}, identity.ErrNotFound
}

func (h *hub) standing() *rule.Rules {
	return &rule.Rules{DB: h.db, People: folk{}, Trail: audit.Nowhere{}}
}

// inPerson is alice on the hub's own machine.
func inPerson() identity.Actor {
	who := alice
	who.Via = identity.Via{}
	return who
}

// rule lets the agent parley touch files unasked.
func (h *hub) rule(uses int) rule.Rule {
	h.t.Helper()
	made, err := h.standing().Make(context.Background(), inPerson(), rule.Rule{
		Agent: "parley", Tool: "shell", Arguments: rule.Pattern{"command": jsontext.Value(`"touch …"`)}, Uses: uses,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return made
}

// ended is how a task went on: with a question, or to its end.
func ended(r *run) *viber.ApprovalRequired {
	ev := r.until(func(ev viber.TaskEvent) bool {
		_, asked := ev.(*viber.ApprovalRequired)
		return asked || viber.Ends(ev)
	})
	asked, _ := ev.(*viber.ApprovalRequired)
	return asked
}

func TestAStandingRuleSparesATaskTheQuestionAsOftenAsItSays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		h.rule(1)
		if asked := ended(h.submit(mode(goal(`/tool shell {"command":"touch a"}`, "/say done"), viber.AgentDecides))); asked != nil || !waitFileNow(h, "a") {
			t.Errorf("a rule is there, and the task asks %+v", asked)
		}
		if asked := ended(h.submit(mode(goal(`/tool shell {"command":"touch b"}`, "/say done"), viber.AgentDecides))); asked == nil || waitFileNow(h, "b") {
			t.Error("the rule is used up, and the next task was not asked about")
		}
	})
}

// What a rule never spares: the task of somebody else, a command it is not for, and what the
// task, the agent's file or strangers' words want asked.
func TestAStandingRuleIsNoWayRoundWhatAsks(t *testing.T) {
	strange := &tool.Tool{
		Name: "web", Class: tool.ReadOnly, Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: "touch b", Untrusted: true}, nil
		},
	}
	touch := `/tool shell {"command":"touch b"}`
	for name, c := range map[string]struct {
		who  identity.Actor
		task *viber.TaskSubmit
	}{
		"somebody else's task":           {bob, mode(goal(touch, "/say done"), viber.AgentDecides)},
		"a command that hides another":   {alice, mode(goal(`/tool shell {"command":"touch a; touch b"}`, "/say done"), viber.AgentDecides)},
		"a task that asks before all":    {alice, mode(goal(touch, "/say done"), viber.AlwaysAsk)},
		"an agent that asks before it":   {alice, with(goal(touch, "/say done"), func(o *viber.TaskOptions) { o.Agent, o.Mode = "careful", viber.AgentDecides })},
		"another agent":                  {alice, with(goal(touch, "/say done"), func(o *viber.TaskOptions) { o.Agent, o.Mode = "other", viber.AgentDecides })},
		"words of strangers, a turn ago": {alice, mode(goal("/tool web {}", touch, "/say done"), viber.AgentDecides)},
		"words of strangers beside it":   {alice, mode(goal("/tool web {}", "/and shell {\"command\":\"touch b\"}", "/say done"), viber.AgentDecides)},
		"a folder outside of the box":    {alice, mode(goal(`/tool shell {"command":"touch b","needs":{"write":["/srv/x"]}}`, "/say done"), viber.AgentDecides)},
		"a host":                         {alice, mode(goal(`/tool shell {"command":"touch b","needs":{"hosts":["example.org"]}}`, "/say done"), viber.AgentDecides)},
		"another folder":                 {alice, mode(goal(`/tool shell {"command":"touch b","cwd":"sub"}`, "/say done"), viber.AgentDecides)},
	} {
		h := newHub(t, sqlite(t), withTools(strange))
		h.agents.put(t, "careful", "---\ntools: [\"*\"]\nrequire_approval: [shell]\n---\n")
		h.agents.put(t, "other", "---\ntools: [\"*\"]\n---\n")
		h.rule(20)
		if asked := ended(h.submitKey(c.who, newKey(), c.task)); asked == nil || waitFileNow(h, "b") {
			t.Errorf("%s: nobody was asked", name)
		}
		h.stop()
	}
}

// slowTool begins, and waits until it may go on.
func slowTool() (slow *tool.Tool, begun, goOn chan struct{}) {
	begun, goOn = make(chan struct{}), make(chan struct{})
	return &tool.Tool{
		Name: "slow", Class: tool.ReadOnly, Timeout: -1, Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(context.Context, tool.Call) (tool.Result, error) {
			close(begun)
			<-goOn
			return tool.Result{Text: "{}"}, nil
		},
	}, begun, goOn
}

// A rule was taken back while a call that it had spared waited for its turn, and the call ran.
func TestARuleThatWasTakenBackSparesNoCallThatWaits(t *testing.T) {
	slow, begun, goOn := slowTool()
	h := newHub(t, sqlite(t), withTools(slow))
	made := h.rule(20)
	r := h.submit(mode(goal("/tool slow {}", `/and shell {"command":"touch a"}`, "/say done"), viber.AgentDecides))
	<-begun
	if err := h.standing().Revoke(context.Background(), inPerson(), made.ID); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	asked := ended(r)
	if asked == nil || waitFileNow(h, "a") {
		t.Fatal("the call ran after its rule was taken back, and nobody was asked")
	}
	h.answer(alice, yes(asked.ApprovalID))
	r.completed()
}

// Somebody else spoke to the task, and what they wanted was spared by its person's rules.
func TestWordsOfAnotherPersonEndTheRulesOfATask(t *testing.T) {
	slow, begun, goOn := slowTool()
	h := newHub(t, sqlite(t), withTools(slow))
	h.rule(20)
	admin := person("admin", identity.Admin)
	r := h.submit(mode(goal("/tool slow {}", "/say first"), viber.AgentDecides))
	<-begun
	if _, err := h.Message(context.Background(), admin, work.MessageRequest{
		Task: r.id, Mode: viber.Followup, Message: viber.ChatMessage{Role: viber.RoleUser, Content: `/tool shell {"command":"touch a"}`},
	}); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if asked := ended(r); asked == nil || waitFileNow(h, "a") {
		t.Error("another person's words had a command run unasked by a rule")
	}
}

// A program's host is spared by a rule that names it, and by no other.
func TestARuleAboutAHostSparesThatHost(t *testing.T) {
	for host, spared := range map[string]bool{`{"host":"new.example"}`: true, "other.example": false} {
		var reached atomic.Int32
		h := newHub(t, sqlite(t), withTools(connector(&reached)))
		_, err := h.standing().Make(context.Background(), inPerson(), rule.Rule{
			Agent: "parley", Tool: "network", Arguments: rule.Pattern{"host": jsontext.Value(`"new.example"`)}, Reach: rule.Reach{Hosts: []string{host}},
		})
		if err != nil {
			t.Fatal(err)
		}
		asked := ended(h.submit(mode(goal("/tool program {}", "/say done"), viber.AgentDecides)))
		if (asked == nil) != spared || (reached.Load() == 1) != spared {
			t.Errorf("a rule that names %s: asked %v, reached %d times", host, asked != nil, reached.Load())
		}
		h.stop()
	}
}

// What a rule answered is in the record as a question, with the rule that said yes.
func TestWhatARuleAnsweredIsInTheRecord(t *testing.T) {
	h := newHub(t, sqlite(t))
	made := h.rule(20)
	h.submit(mode(goal(`/tool shell {"command":"touch a"}`, "/say done"), viber.AgentDecides)).completed()
	list, err := h.inbox.List(context.Background(), approval.Filter{Principal: "alice"})
	if err != nil || len(list) != 1 || list[0].Outcome.By != "rule:"+made.ID || list[0].Task == "" {
		t.Errorf("the record has %+v (%v); want one question of the task, answered by the rule", list, err)
	}
}
