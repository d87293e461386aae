package rest

import (
	"encoding/json"
	"time"
)

// The one inbox.
var (
	ListApprovals  = Get[ApprovalQuery, Approvals]("/api/approvals", "What waits for you, newest first")
	ApprovalFiles  = Get[ByID, Files]("/api/approvals/{id}/files", "Your files in the conversation or task that asks, newest first")
	GetApproval    = Get[ByID, Approval]("/api/approvals/{id}", "One question")
	AnswerApproval = Post[ApprovalAnswer, Approval]("/api/approvals/{id}", "Answer it; the first valid answer counts")
)

// ApprovalQuery chooses questions.
type ApprovalQuery struct {
	State string `query:"state" enum:"pending,approved,rejected,expired,cancelled,all" default:"pending"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"200"`
}

// Approvals is a list of them.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
}

// Approval is a question as people and programs see it.
type Approval struct {
	ID           string          `json:"id"`
	Kind         string          `json:"kind"`
	Title        string          `json:"title,omitempty"`
	Tool         string          `json:"tool,omitempty"`
	Arguments    json.RawMessage `json:"arguments" doc:"exactly what will run"`
	Target       string          `json:"target,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	RequestedBy  string          `json:"requested_by,omitempty"`
	OnBehalfOf   string          `json:"on_behalf_of,omitempty"`
	Asker        *Asker          `json:"asker,omitempty" doc:"who wants it, or whose agent does, and how they came here"`
	Machines     []string        `json:"machines,omitempty" doc:"every machine it is about"`
	Tainted      *Taint          `json:"tainted,omitempty" doc:"words of strangers had entered the run: since when, and where the first came from"`
	NotAsker     bool            `json:"not_asker,omitempty" doc:"another person than the asking one must answer"`
	Task         string          `json:"task_id,omitempty"`
	Conversation string          `json:"conversation_id,omitempty"`
	Questions    []Question      `json:"questions,omitempty"`
	MayRemember  bool            `json:"may_remember" doc:"whether the same may be allowed for the rest of the task"`
	MayRule      bool            `json:"may_rule" doc:"whether a standing rule can be made of it"`
	Quorum       int             `json:"quorum" doc:"how many different people must agree"`
	Created      time.Time       `json:"created_at"`
	Expires      time.Time       `json:"expires_at"`
	Outcome      string          `json:"outcome" enum:"pending,approved,rejected,expired,cancelled" doc:"pending is also the answer to one yes of several that are needed"`
	By           string          `json:"by,omitempty"`
	Answer       string          `json:"answer_reason,omitempty"`
	Resolved     time.Time       `json:"resolved_at,omitzero"`
}

// Asker is how somebody came here, in words and in parts.
type Asker struct {
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

// Taint says since when words of strangers are in a run, and whose were the first.
type Taint struct {
	Since time.Time `json:"since,omitzero"`
	By    string    `json:"by,omitempty"`
}

// Question is one question of an agent.
type Question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header,omitempty"`
	Options     []Option `json:"options,omitempty"`
	MultiSelect bool     `json:"multi_select,omitempty"`
}

// Option is one possible answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// ApprovalAnswer answers one question.
type ApprovalAnswer struct {
	ID   string `path:"id"`
	Body Answer
}

// Answer is a person's word.
type Answer struct {
	Approved bool     `json:"approved"`
	Reason   string   `json:"reason,omitempty" maxLength:"4000"`
	Remember string   `json:"remember,omitempty" enum:"once,task"`
	Answers  []string `json:"answers,omitempty" maxItems:"256"`
	// Always makes a standing rule of a yes.
	Always *RuleTerms `json:"always,omitempty" doc:"make a standing rule of this yes: calls like it are not asked about any more; try it first"`
}

// Resolution is how a question ended, as the page's live stream tells it.
type Resolution struct {
	By       string    `json:"by"`
	ID       string    `json:"id"`
	Outcome  string    `json:"outcome"`
	Reason   string    `json:"reason"`
	Resolved time.Time `json:"resolved_at"`
}
