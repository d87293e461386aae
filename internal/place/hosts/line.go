package hosts

import (
	"context"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// placeLine is how skills reach others at a place.
type placeLine struct{ agent *mmpagent.Agent }

// Send seals and sends; a note travels as its text alone.
func (l placeLine) Send(ctx context.Context, to string, m meeting.Message) error {
	if m.Action == skill.ActionNote {
		var note struct {
			Text string `json:"text"`
		}
		if err := mmp.Decode(m.Payload, &note); err != nil {
			return err
		}
		_, err := l.agent.Send(ctx, to, m.Action, note.Text)
		return err
	}
	_, err := l.agent.Send(ctx, to, m.Action, m)
	return err
}

// Key is the pinned key of an address.
func (l placeLine) Key(ctx context.Context, address string) *mmp.PublicKey {
	key, _, err := l.agent.Key(ctx, address)
	if err != nil {
		return nil
	}
	return key
}

// AcceptKey pins another key, after a person said so.
func (l placeLine) AcceptKey(ctx context.Context, address, keyID string) error {
	return l.agent.AcceptKey(ctx, address, keyID)
}
