package rest

import (
	"encoding/json"
	"time"
)

// Standing rules: what need not be asked again.
var (
	ListStandingRules  = Get[None, StandingRules]("/api/rules", "Your standing rules: what agents of yours may do without asking each time")
	MakeStandingRule   = Post[RuleRequest, StandingRule]("/api/rules", "Make a rule; only a person in person does").Created()
	TryStandingRule    = Post[RuleRequest, RuleTrial]("/api/rules/try", "Tell a rule in words, and what it would have answered; nothing is made")
	RevokeStandingRule = Delete[ByID, None]("/api/rules/{id}", "Take a rule back, from the next call on")
)

// RuleTerms is what of a rule a question does not say.
type RuleTerms struct {
	Command   string                     `json:"command,omitempty" maxLength:"8192" doc:"the command as a rule; … at its end stands for any further words"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty" doc:"the arguments, each with its value or … for any; left out, exactly those of the question"`
	Until     time.Time                  `json:"until,omitzero" doc:"when it ends; left out, in 30 days"`
	Uses      int                        `json:"uses,omitempty" minimum:"1" maximum:"10000" doc:"how often it may answer; left out, 20 times"`
}

// RuleRequest is a rule to be made: from a question, or part by part.
type RuleRequest struct {
	Approval string   `json:"approval_id,omitempty" maxLength:"200" doc:"the question it is to answer from now on; then agent, tool, folder and what it reaches are that question's"`
	Agent    string   `json:"agent,omitempty" maxLength:"256"`
	Tool     string   `json:"tool,omitempty" maxLength:"256"`
	Folder   string   `json:"folder,omitempty" maxLength:"4096" doc:"where a command runs, as seen from the agent's folder"`
	Read     []string `json:"read,omitempty" maxItems:"16" doc:"folders outside the box that it may read"`
	Write    []string `json:"write,omitempty" maxItems:"16" doc:"folders outside the box that it may change"`
	Hosts    []string `json:"hosts,omitempty" maxItems:"16" doc:"hosts that it may speak to"`
	Machines []string `json:"machines,omitempty" maxItems:"16" doc:"machines that it may use"`
	RuleTerms
}

// StandingRule is one person's standing yes.
type StandingRule struct {
	ID        string                     `json:"id"`
	Words     string                     `json:"words" doc:"all of it, as people read it"`
	Owner     string                     `json:"owner"`
	Agent     string                     `json:"agent"`
	Tool      string                     `json:"tool"`
	Arguments map[string]json.RawMessage `json:"arguments"`
	Folder    string                     `json:"folder,omitempty"`
	Read      []string                   `json:"read,omitempty"`
	Write     []string                   `json:"write,omitempty"`
	Hosts     []string                   `json:"hosts,omitempty"`
	Machines  []string                   `json:"machines,omitempty"`
	Created   time.Time                  `json:"created_at"`
	Until     time.Time                  `json:"until"`
	Uses      int                        `json:"uses" doc:"how often it may answer"`
	Used      int                        `json:"used" doc:"how often it did"`
	UsedAt    time.Time                  `json:"used_at,omitzero"`
	Approval  string                     `json:"approval_id,omitempty" doc:"the question it was made from"`
}

// StandingRules is a list of them.
type StandingRules struct {
	Rules []StandingRule `json:"rules"`
}

// RuleTrial is a rule that was not made yet, and what it would have done.
type RuleTrial struct {
	Words    string `json:"words" doc:"the rule, as people read it"`
	Asked    int    `json:"asked" doc:"how many of your last 200 questions were about calls"`
	Answered int    `json:"answered" doc:"how many of them it would have answered"`
	Refused  int    `json:"refused" doc:"how many of these you refused"`
}
