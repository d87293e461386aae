package place

import (
	"context"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// Sender is who a direct message comes from, as far as this place knows.
type Sender struct {
	// ID is what the message says; with a token it is the token's.
	ID string
	// Proven says that a session token of this place covers the id, and that it was
	// given for the answer to a challenge.
	Proven bool
	// Direct is false for what came through the relay.
	Direct bool
	// Version is the envelope it came in, 0 for a direct message.
	Version int
	// KeyID is the key a proven sender holds, empty otherwise.
	KeyID string
	// Earlier are keys it had before, each of which named the next.
	Earlier []string
}

// Meeting is what speaks for hosted agents at the direct endpoints. The agent is
// named by the caller, empty for the front agent; what does not exist is
// mmp.ErrAgentNotFound.
type Meeting interface {
	// Introduction is an agent's own, and the message that carries it.
	Introduction(ctx context.Context, agent string) (meeting.Introduction, meeting.Message, error)
	// Encounter shows whoever called that the agent holds its key; nil where it cannot,
	// as the caller does not say enough.
	Encounter(ctx context.Context, agent string, e mmp.Encounter) (*mmp.Proof, error)
	// Handle processes a message and says what it came to. It is idempotent by
	// sender and message id.
	Handle(ctx context.Context, agent string, from Sender, m meeting.Message) (meeting.Result, error)
	// Skills lists public skills and the exchange policy.
	Skills(ctx context.Context, agent string) (meeting.SkillsAnswer, error)
	// Skill describes one by id or name; Preview gives its first lines.
	Skill(ctx context.Context, agent, skill string) (meeting.SkillDetails, error)
	PreviewSkill(ctx context.Context, agent, skill string, lines int) (board.Deposit, error)
	// Package makes the skill ready to travel to a peer.
	Package(ctx context.Context, agent string, from Sender, ref meeting.SkillRef) (meeting.PackagedAnswer, error)
	// Make makes a message in the agent's name without sending it: offer_skill,
	// accept, decline, request_skill or reflect. The body is the request's.
	Make(ctx context.Context, agent, action string, body []byte) (meeting.MadeAnswer, error)
	// History is what happened with a peer, or with all.
	History(ctx context.Context, agent string, q meeting.HistoryQuery) (meeting.HistoryAnswer, error)
}
