package skill

import (
	"context"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// documentOf reads the file that defines an extension; empty when there is none.
func (s *Skills) documentOf(name, hash string) (content, version string) {
	for _, text := range s.documents() {
		d, err := meeting.ParseExtension(text)
		if err == nil && d.Name == name && (hash == "" || mmp.SameHash(d.Hash.Bare(), hash)) {
			return text, d.Version
		}
	}
	return "", ""
}

// ProposeExtension tells a peer about an extension of this hub's files.
func (a Acting) ProposeExtension(ctx context.Context, agent, at, name, to string) error {
	content, _ := a.s.documentOf(name, "")
	if content == "" {
		return ErrNotFound
	}
	d, err := meeting.ParseExtension(content)
	if err != nil {
		return err
	}
	return a.speak(ctx, words{"extension_propose", agent, at, to, content}, func(tx *store.Tx, h Host) error {
		if err := allowed(tx, h.ID, to, meeting.ExtensionEvolution); err != nil {
			return err
		}
		m, err := meeting.NewMessage(meeting.ActionProposeExtension, h.ID, to, meeting.ProposeExtensionPayload{
			Name: d.Name, Version: d.Version, Actions: d.Actions, Requires: d.Requires, Description: d.Description, ContentHash: d.Hash.Prefixed(),
		}, a.s.now())
		if err != nil {
			return err
		}
		return a.s.enqueue(tx, h, at, m, false)
	})
}
