package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	"parley.internal/cmd/parley/tui"
	wire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
)

// chatHistory is how many messages a chat begins with.
const chatHistory = 20

// chatScreen is the chat on a terminal.
func chatScreen(ctx context.Context, g *globals, c *agentfirst.Client, out io.Writer, o chatOptions) error {
	sender := firstOf(o.sender, c.Hub().GetSender(), wire.DefaultSender)
	link := &chatLink{client: c, options: o, sender: sender}
	// Approvals are answered over REST; without it they are answered elsewhere.
	if hub, done, err := g.connect(ctx); err == nil {
		defer done()
		link.hub = hub
	}
	return tui.Run(ctx, link, out, tui.Options{Agent: o.agent, Sender: sender, Thread: o.thread, Guest: o.guest})
}

// chatLink is a chat's hub over the conversations protocol.
type chatLink struct {
	client  *agentfirst.Client
	hub     *hubapi.Client
	options chatOptions
	sender  string
}

func (l *chatLink) Attach(ctx context.Context, thread string, lost func(error)) iter.Seq2[*wire.ConversationEvent, error] {
	return l.client.Attach(ctx, &wire.Attach{Agent: l.options.agent, Sender: l.sender, Thread: thread, History: chatHistory}, lost)
}

// Say follows the run only to know whether it was accepted: what it says comes
// through the attachment, as for every other device.
func (l *chatLink) Say(ctx context.Context, thread, guest, text string, files []*wire.FileRef) error {
	o := l.options
	o.sender, o.thread, o.guest = l.sender, thread, guest
	turn := o.turn(text)
	turn.Files = files
	for _, err := range l.client.Stream(ctx, turn) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Put brings a file into the hub.
func (l *chatLink) Put(ctx context.Context, path string) (*wire.FileRef, error) {
	if l.hub == nil {
		return nil, errors.New("files cannot be put into the hub from here")
	}
	return putFile(ctx, l.hub, path)
}

// putFile brings a picture, a PDF or a voice note into the hub.
func putFile(ctx context.Context, c *hubapi.Client, path string) (*wire.FileRef, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	kept, err := hubapi.Call(ctx, c, rest.PutFile, rest.FileUpload{Name: filepath.Base(path), Body: f})
	return &wire.FileRef{Digest: kept.Digest, Name: kept.Name, Type: kept.Type, Size: uint64(kept.Size)}, err
}

func (l *chatLink) Cancel(ctx context.Context, thread string) error {
	err := l.client.Cancel(ctx, &wire.Cancel{Agent: l.options.agent, Sender: l.sender, Thread: thread})
	if errors.Is(err, agentfirst.ErrNotFound) {
		return nil // it ended by itself
	}
	return err
}

func (l *chatLink) Reply(ctx context.Context, thread, askID, answer string) error {
	return l.client.ReplyToAsk(ctx, &wire.ReplyToAsk{Agent: l.options.agent, Sender: l.sender, Thread: thread, AskId: askID, Content: answer})
}

func (l *chatLink) Approve(ctx context.Context, id string, yes bool) error {
	if l.hub == nil {
		return errors.New("approvals cannot be answered from here: use the page or 'parley approvals'")
	}
	_, err := hubapi.Call(ctx, l.hub, rest.AnswerApproval, rest.ApprovalAnswer{ID: id, Body: rest.Answer{Approved: yes}})
	return err
}

func (l *chatLink) Compact(ctx context.Context, thread, focus string) error {
	_, err := l.client.Compact(ctx, &wire.Compact{Agent: l.options.agent, Sender: l.sender, Thread: thread, Focus: focus})
	return err
}

func (l *chatLink) Archives(ctx context.Context, thread string) ([]*wire.ArchiveInfo, error) {
	return l.client.ListArchives(ctx, &wire.ListArchives{Agent: l.options.agent, Sender: l.sender, Thread: thread})
}

func (l *chatLink) Search(ctx context.Context, query string) ([]*wire.Hit, error) {
	found, err := l.client.Search(ctx, &wire.Search{Query: query, Agent: l.options.agent, Sender: l.sender})
	return found.GetHits(), err
}

func (l *chatLink) Agents(ctx context.Context) ([]string, error) {
	list, err := l.client.ListAgents(ctx)
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.GetName()
	}
	return names, err
}
