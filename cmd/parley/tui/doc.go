// Package tui is the chat on a terminal.
//
//	err := tui.Run(ctx, link, os.Stdout, tui.Options{Agent: "parley", Sender: "user"})
//
// What has been said scrolls on top; below it are what is going on now, a question
// if one waits, the input, and a line of status.
//
//	Chat (chat.go)      what happened → what to print and what to show; pure
//	Render (markdown.go) Markdown → styled lines; pure
//	Model (model.go)    keys and events → Chat, and calls on Link as commands
//	Link                the hub, as far as a chat needs it
//
// Everything shown comes from attaching to the conversation, one's own turns
// included, so every device shows the same. Words of models and of other people
// are shown as text: control characters in them do nothing.
package tui
