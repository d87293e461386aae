package agentfirst

import (
	"context"

	wire "parley.internal/protocol/agentfirst"
)

// ReplyToAsk answers a question that a running turn has asked.
func (c *Client) ReplyToAsk(ctx context.Context, reply *wire.ReplyToAsk) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ReplyToAsk{ReplyToAsk: reply}})
}

// Kill ends the running turn and all waiting ones. The history stays.
func (c *Client) Kill(ctx context.Context, kill *wire.Kill) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_Kill{Kill: kill}})
}

// Cancel ends the running turn, or the waiting one with that run id. Extended servers only.
func (c *Client) Cancel(ctx context.Context, cancel *wire.Cancel) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_Cancel{Cancel: cancel}})
}

// Compact archives the live window behind a summary, which it returns.
func (c *Client) Compact(ctx context.Context, compact *wire.Compact) (*wire.CompactResult, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_Compact{Compact: compact}},
		(*wire.ServerMessage).GetCompact)
}

// ListActiveConversations lists the loaded conversations; empty agent or sender = any.
func (c *Client) ListActiveConversations(ctx context.Context, agent, sender string) ([]*wire.ActiveConversationInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListActiveConversations{
		ListActiveConversations: &wire.ListActiveConversations{Agent: agent, Sender: sender},
	}}, (*wire.ServerMessage).GetActiveConversations)
	return m.GetConversations(), err
}

// ListConversations lists the stored conversations; empty agent or sender = any.
func (c *Client) ListConversations(ctx context.Context, agent, sender string) ([]*wire.ConversationInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListConversations{
		ListConversations: &wire.ListConversations{Agent: agent, Sender: sender},
	}}, (*wire.ServerMessage).GetConversationList)
	return m.GetConversations(), err
}

// GetConversationHistory returns the messages of a conversation.
func (c *Client) GetConversationHistory(ctx context.Context, get *wire.GetConversationHistory) (*wire.ConversationHistory, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_GetConversationHistory{GetConversationHistory: get}},
		(*wire.ServerMessage).GetConversationHistory)
}

// DeleteConversation removes a conversation and everything in it.
func (c *Client) DeleteConversation(ctx context.Context, handle string) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_DeleteConversation{
		DeleteConversation: &wire.DeleteConversation{FilePath: handle},
	}})
}

// SetTitle names a conversation. Extended servers only.
func (c *Client) SetTitle(ctx context.Context, handle, title string) error {
	return tell(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_SetTitle{
		SetTitle: &wire.SetTitle{FilePath: handle, Title: title},
	}})
}

// ListArchives lists the archives of a conversation, oldest first. Extended servers only.
func (c *Client) ListArchives(ctx context.Context, list *wire.ListArchives) ([]*wire.ArchiveInfo, error) {
	m, err := ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListArchives{ListArchives: list}},
		(*wire.ServerMessage).GetArchiveList)
	return m.GetArchives(), err
}

// GetArchive returns the messages of one archive. Extended servers only.
func (c *Client) GetArchive(ctx context.Context, get *wire.GetArchive) (*wire.Archive, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_GetArchive{GetArchive: get}},
		(*wire.ServerMessage).GetArchive)
}

// Search finds messages, archives and notes. Extended servers only.
func (c *Client) Search(ctx context.Context, search *wire.Search) (*wire.SearchResult, error) {
	return ask(ctx, c, &wire.ClientMessage{Message: &wire.ClientMessage_Search{Search: search}},
		(*wire.ServerMessage).GetSearchResult)
}
