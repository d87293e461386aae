package rest

import "time"

// Memory that is shared on purpose.
var (
	ListShares    = Get[None, Shares]("/api/memory/shares", "What you share of agents' memory, and what is shared with you")
	ShareMemory   = Post[ShareRequest, Share]("/api/memory/shares", "Let an agent recall archives of another agent's, or another person's, conversations").Created()
	UnshareMemory = Delete[ByID, None]("/api/memory/shares/{id}", "Take it back, at once")
)

// Share is memory that is shared.
type Share struct {
	ID       string    `json:"id"`
	Agent    string    `json:"agent" doc:"whose memory: this agent's"`
	Sender   string    `json:"sender" doc:"with this sender"`
	Archive  string    `json:"archive_id,omitempty" doc:"only this archive"`
	ToAgent  string    `json:"to_agent" doc:"who recalls it"`
	ToSender string    `json:"to_sender" doc:"when talking with this sender"`
	By       string    `json:"by" doc:"who gave it"`
	Created  time.Time `json:"created_at"`
	Expires  time.Time `json:"expires_at"`
}

// Shares is a list of them.
type Shares struct {
	Shares []Share `json:"shares"`
}

// ShareRequest shares memory until a time.
type ShareRequest struct {
	Agent    string    `json:"agent" maxLength:"64"`
	Sender   string    `json:"sender,omitempty" maxLength:"256" doc:"yourself, if none is named"`
	Archive  string    `json:"archive_id,omitempty" maxLength:"64"`
	ToAgent  string    `json:"to_agent" maxLength:"64"`
	ToSender string    `json:"to_sender,omitempty" maxLength:"256" doc:"the same sender, if none is named"`
	Expires  time.Time `json:"expires_at,omitzero" doc:"within a year; in 30 days, if none is named"`
}
