package api

import (
	"context"
	"encoding/json"
	"time"

	"parley/internal/approval"
	"parley/internal/identity"
	"parley/internal/visible"
)

// RegisterApprovals adds the one inbox.
func RegisterApprovals(a *API, inbox *approval.Inbox) {
	in := approvalRoutes{inbox}
	add(a, route{Method: "GET", Path: "/api/approvals", Scope: identity.ApprovalRead, Tag: "inbox", Summary: "What waits for you, newest first"}, in.list)
	add(a, route{Method: "GET", Path: "/api/approvals/{id}", Scope: identity.ApprovalRead, Tag: "inbox", Summary: "One question"}, in.get)
	add(a, route{Method: "POST", Path: "/api/approvals/{id}", Scope: identity.ApprovalRespond, Tag: "inbox", Summary: "Answer it; the first valid answer counts"}, in.answer)
}

type approvalRoutes struct{ inbox *approval.Inbox }

// approvalView is a question as people and programs see it.
type approvalView struct {
	ID           string              `json:"id"`
	Kind         string              `json:"kind"`
	Title        string              `json:"title,omitempty"`
	Tool         string              `json:"tool,omitempty"`
	Arguments    json.RawMessage     `json:"arguments" doc:"exactly what will run"`
	Target       string              `json:"target,omitempty"`
	Reason       string              `json:"reason,omitempty"`
	RequestedBy  string              `json:"requested_by,omitempty"`
	OnBehalfOf   string              `json:"on_behalf_of,omitempty"`
	Asker        *askerView          `json:"asker,omitempty" doc:"who wants it, or whose agent does, and how they came here"`
	Machines     []string            `json:"machines,omitempty" doc:"every machine it is about"`
	Tainted      *approval.Taint     `json:"tainted,omitempty" doc:"words of strangers had entered the run: since when, and where the first came from"`
	NotAsker     bool                `json:"not_asker,omitempty" doc:"another person than the asking one must answer"`
	Task         string              `json:"task_id,omitempty"`
	Conversation string              `json:"conversation_id,omitempty"`
	Questions    []approval.Question `json:"questions,omitempty"`
	MayRemember  bool                `json:"may_remember"`
	Quorum       int                 `json:"quorum"`
	Created      time.Time           `json:"created_at"`
	Expires      time.Time           `json:"expires_at"`
	outcomeView
}

// askerView is how somebody came here, in words and in parts.
type askerView struct {
	Person  string `json:"person,omitempty"`
	Via     string `json:"via,omitempty" doc:"the token, page, device or MCP client, in words"`
	Token   string `json:"token_id,omitempty"`
	Page    string `json:"page_id,omitempty"`
	Device  string `json:"device_id,omitempty"`
	Client  string `json:"mcp_client,omitempty" doc:"what an MCP client calls itself"`
	Where   string `json:"where,omitempty" doc:"page, api, mcp, conversation, task, room, schedule or hub"`
	Agent   string `json:"agent,omitempty"`
	Run     string `json:"run,omitempty"`
	Address string `json:"address,omitempty"`
}

func viewAsker(a approval.Asker) *askerView {
	if a == (approval.Asker{}) {
		return nil
	}
	v := a.Via
	out := &askerView{
		Via: a.Words(), Token: v.TokenID, Page: v.PageID, Device: v.Device, Client: visible.Line(v.Client), Where: string(v.Where), Agent: v.Agent, Run: v.Run, Address: v.Address,
	}
	if a.Person.ID != "" {
		out.Person = a.Person.String()
	}
	return out
}

type outcomeView struct {
	State    approval.State `json:"outcome"`
	By       string         `json:"by,omitempty"`
	Answer   string         `json:"answer_reason,omitempty"`
	Resolved time.Time      `json:"resolved_at,omitzero"`
}

func viewApproval(i approval.Item) approvalView {
	return approvalView{
		ID: i.ID, Kind: i.Kind, Title: i.Title, Tool: i.Tool, Arguments: i.Arguments, Target: i.Target, Reason: i.Reason,
		RequestedBy: i.RequestedBy, OnBehalfOf: i.OnBehalfOf, Asker: viewAsker(i.Asker), Machines: i.Machines(), Tainted: i.Taint, NotAsker: i.Policy.NotAsker, Task: i.Task, Conversation: i.Conversation, Questions: i.Questions,
		MayRemember: i.MayRemember, Quorum: i.Quorum, Created: i.Created, Expires: i.Expires,
		outcomeView: outcomeView{State: i.Outcome.State, By: i.Outcome.By, Answer: i.Outcome.Reason, Resolved: i.Outcome.At},
	}
}

type approvalQuery struct {
	State string `query:"state" enum:"pending,approved,rejected,expired,cancelled,all" default:"pending"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"200"`
}

type approvalList struct {
	Body struct {
		Approvals []approvalView `json:"approvals"`
	}
}

func (in approvalRoutes) list(ctx context.Context, who identity.Actor, q *approvalQuery) (*approvalList, error) {
	f := approval.Filter{Principal: inboxOf(who), Limit: q.Limit}
	if q.State != "all" {
		f.States = []approval.State{approval.State(q.State)}
	}
	items, err := in.inbox.List(ctx, f)
	if err != nil {
		return nil, err
	}
	out := &approvalList{}
	out.Body.Approvals = make([]approvalView, len(items))
	for i, item := range items {
		out.Body.Approvals[i] = viewApproval(item)
	}
	return out, nil
}

// inboxOf is whose inbox a caller sees: its own, or for an admin everybody's.
func inboxOf(who identity.Actor) string {
	if who.Admin() {
		return ""
	}
	return who.Person.ID
}

type approvalAnswer struct{ Body approvalView }

func (in approvalRoutes) get(ctx context.Context, who identity.Actor, q *byID) (*approvalAnswer, error) {
	item, err := in.inbox.Get(ctx, who, q.ID)
	return &approvalAnswer{viewApproval(item)}, err
}

type answerRequest struct {
	ID   string `path:"id"`
	Body struct {
		Approved bool     `json:"approved"`
		Reason   string   `json:"reason,omitempty" maxLength:"4000"`
		Remember string   `json:"remember,omitempty" enum:"once,task"`
		Answers  []string `json:"answers,omitempty" maxItems:"256"`
	}
}

func (in approvalRoutes) answer(ctx context.Context, who identity.Actor, q *answerRequest) (*approvalAnswer, error) {
	result, err := in.inbox.Answer(ctx, who, q.ID, approval.Answer{
		Approved: q.Body.Approved, Reason: q.Body.Reason, Remember: q.Body.Remember, Answers: q.Body.Answers,
	})
	return &approvalAnswer{viewApproval(result.Item)}, err
}
