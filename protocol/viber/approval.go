package viber

// ApprovalRequired asks a person before a tool runs.
type ApprovalRequired struct {
	TaskRef
	ApprovalID string `json:"approval_id"`
	// ToolCall is what will run if approved, exactly.
	ToolCall    ToolCall `json:"tool_call"`
	Reason      string   `json:"reason"`
	TimeoutMS   int64    `json:"timeout_ms,omitzero"`
	CreatedAt   Time     `json:"created_at,omitzero"`
	RequestedBy string   `json:"requested_by,omitzero"`
	// Asker, Machines and Tainted are this hub's: who wants it, on which machines, and
	// whose words the run had read. Clients that do not know them leave them out.
	Asker    *Asker   `json:"asker,omitzero"`
	Machines []string `json:"machines,omitempty"`
	Tainted  *Taint   `json:"tainted,omitzero"`
}

// Asker is who wants something and how they came, in words.
type Asker struct {
	Person string `json:"person,omitzero"`
	// Via is the token, page, device or MCP client.
	Via   string `json:"via,omitzero"`
	Where string `json:"where,omitzero"`
	Agent string `json:"agent,omitzero"`
}

// Taint tells since when words of strangers are in a run, and where the first came from.
type Taint struct {
	Since Time   `json:"since,omitzero"`
	By    string `json:"by,omitzero"`
}

// Remember says for how long an answer holds.
type Remember string

// How long an answer can hold.
const (
	RememberOnce Remember = "once"
	RememberTask Remember = "task"
)

// ApprovalResponse is a person's answer.
type ApprovalResponse struct {
	ApprovalID string   `json:"approval_id"`
	Approved   *bool    `json:"approved"`
	Reason     string   `json:"reason,omitzero"`
	Remember   Remember `json:"remember,omitzero"`
	// Answers are one per question of an ask_user.
	Answers []string `json:"answers,omitzero"`
}

// Yes reports whether the answer allows the call.
func (r *ApprovalResponse) Yes() bool { return r.Approved != nil && *r.Approved }

func (r *ApprovalResponse) check() *Violation {
	switch {
	case r.ApprovalID == "":
		return violation(ReasonBadPayload, "/approval_id", "approval_id is missing")
	case r.Approved == nil:
		return violation(ReasonBadPayload, "/approved", "approved is true or false")
	}
	switch r.Remember {
	case "":
		r.Remember = RememberOnce
	case RememberOnce, RememberTask:
	default:
		return violation(ReasonBadPayload, "/remember", "remember is once or task")
	}
	return nil
}

// Outcome is how an approval ended.
type Outcome string

// How an approval can end.
const (
	Approved  Outcome = "approved"
	Rejected  Outcome = "rejected"
	Expired   Outcome = "expired"
	Cancelled Outcome = "cancelled"
)

// ApprovalResolved says how an approval ended.
type ApprovalResolved struct {
	TaskRef
	ApprovalID string  `json:"approval_id"`
	Outcome    Outcome `json:"outcome"`
	By         string  `json:"by,omitzero"`
	Reason     string  `json:"reason,omitzero"`
	ResolvedAt Time    `json:"resolved_at"`
}

// ApprovalList asks for what waits for a person.
type ApprovalList struct{}

// ApprovalListResponse is what waits for a person.
type ApprovalListResponse struct {
	Approvals []ApprovalRequired `json:"approvals"`
}

// Type names the message.
func (*ApprovalRequired) Type() Type { return TypeApprovalRequired }

// Type names the message.
func (*ApprovalResponse) Type() Type { return TypeApprovalResponse }

// Type names the message.
func (*ApprovalResolved) Type() Type { return TypeApprovalResolved }

// Type names the message.
func (*ApprovalList) Type() Type { return TypeApprovalList }

// Type names the message.
func (*ApprovalListResponse) Type() Type { return TypeApprovalListResponse }
