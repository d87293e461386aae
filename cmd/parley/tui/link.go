package tui

import (
	"context"
	"iter"

	wire "parley.internal/protocol/agentfirst"
)

// Link is the hub, as far as a chat needs it.
type Link interface {
	// Attach follows a conversation, also over breaks; lost hears of each.
	Attach(ctx context.Context, thread string, lost func(error)) iter.Seq2[*wire.ConversationEvent, error]
	// Say sends a turn and returns when it is over, with what refused it. When ctx
	// ends first, the turn is cancelled, also if the hub has not answered yet.
	Say(ctx context.Context, thread, guest, text string, files []*wire.FileRef) error
	// Put brings a picture, a PDF or a voice note into the hub.
	Put(ctx context.Context, path string) (*wire.FileRef, error)
	Cancel(ctx context.Context, thread string) error
	Reply(ctx context.Context, thread, askID, answer string) error
	Approve(ctx context.Context, id string, yes bool) error
	Compact(ctx context.Context, thread, focus string) error
	Archives(ctx context.Context, thread string) ([]*wire.ArchiveInfo, error)
	Search(ctx context.Context, query string) ([]*wire.Hit, error)
	Agents(ctx context.Context) ([]string, error)
}
