package talk

import (
	"context"
	"fmt"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk/memory"
)

// SummariseAgain summarises an archive again from its raw messages, which are always kept:
// a summary that was found wrong can be replaced.
func (t *Talk) SummariseAgain(ctx context.Context, who identity.Actor, id, focus string) (memory.Archive, error) {
	a, key, err := t.d.Memory.GetArchive(ctx, id)
	if err != nil {
		return a, err
	}
	if !may(who, key.Sender) {
		return memory.Archive{}, fmt.Errorf("%w: sender %q", ErrForbidden, key.Sender)
	}
	agent, err := t.agent(key.Agent)
	if err != nil {
		return memory.Archive{}, err
	}
	raw, err := t.d.Memory.ArchiveMessages(ctx, a, 0, 0)
	if err != nil {
		return memory.Archive{}, err
	}
	w := &window{memory.Window{Conversation: memory.Conversation{Key: key}, Messages: raw}}
	text, m, usage, err := t.summarise(ctx, agent, w, focus)
	if err != nil {
		return memory.Archive{}, err
	}
	a, err = t.d.Memory.Resummarise(ctx, nil, id, text, m.Ref.String(), usage)
	if err != nil {
		return a, err
	}
	t.note(who.String(), audit.TalkResummarised, a.Conversation, map[string]any{"archive": id})
	// A loaded conversation may lead its window with the old summary.
	if c := t.loaded(a.Conversation); c != nil {
		_ = c.do(ctx, func() { c.stale = true })
	}
	return a, nil
}
