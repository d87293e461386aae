package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	wire "parley.internal/protocol/agentfirst"
)

// command is something the chat itself understands; any other /word is sent.
type command struct {
	name, argument, help string
	run                  func(m *Model, argument string) tea.Cmd
}

// chatCommands are the chat's own.
func chatCommands() []command {
	return []command{
		{"/help", "", "this list", (*Model).help},
		{"/exit", "", "leave", func(*Model, string) tea.Cmd { return tea.Quit }},
		{"/guest", "[NAME]", "let another agent answer from now on; without a name, the agent itself", (*Model).setGuest},
		{"/thread", "[NAME]", "go to a thread; without a name, to the main one", (*Model).setThread},
		{"/attach", "FILE", "take a file along with the next message: text, a picture, a PDF or a voice note; without a name, none", (*Model).attachFile},
		{"/compact", "[FOCUS]", "archive what was said behind a summary", (*Model).compact},
		{"/archives", "", "list what was archived", func(m *Model, _ string) tea.Cmd { return m.archives() }},
		{"/search", "WORDS", "find what was said, archived or noted", (*Model).find},
		{"/cancel", "", "cancel the turn that runs", func(m *Model, _ string) tea.Cmd { return m.cancel() }},
	}
}

// command runs one of the chat's own; ours is false for everything else.
func (m *Model) command(text string) (cmd tea.Cmd, ours bool) {
	name, argument, _ := strings.Cut(text, " ")
	for _, c := range chatCommands() {
		if c.name == name && !strings.Contains(text, "\n") {
			return c.run(m, strings.TrimSpace(argument)), true
		}
	}
	return nil, false
}

func (m *Model) help(string) tea.Cmd {
	lines := []string{bold.Render("Commands")}
	for _, c := range chatCommands() {
		lines = append(lines, fmt.Sprintf("  %-20s", c.name+" "+c.argument)+dim.Render(c.help))
	}
	lines = append(lines, bold.Render("Keys"),
		"  Enter sends, Alt-Enter or Ctrl-J begins a new line",
		"  Up and Down bring back earlier lines, PgUp and PgDn scroll",
		"  @NAME text asks another agent in this conversation, Tab completes names and files",
		"  Ctrl-C cancels what runs, twice leaves", "")
	m.remark(lines...)
	return nil
}

func (m *Model) setGuest(name string) tea.Cmd {
	if name != "" && !slices.Contains(m.agents, name) {
		m.remark(failure.Render("There is no agent " + brief(name, 60) + "."))
		return nil
	}
	m.guest = name
	return nil
}

func (m *Model) attachFile(path string) tea.Cmd {
	if path == "" {
		m.files = nil
		return nil
	}
	file, err := Read(expand(path), m.files, func(path string) (*wire.FileRef, error) { return m.link.Put(m.ctx, path) })
	if err != nil {
		m.remark(failure.Render(brief(err.Error(), 400)))
		return nil
	}
	m.files = append(m.files, file)
	return nil
}

func (m *Model) setThread(name string) tea.Cmd {
	m.chat = m.chat.in(name)
	where := "the main thread"
	if name != "" {
		where = "thread " + brief(name, 60)
	}
	m.remark(dim.Render("— " + where + " —"))
	return m.attach()
}

func (m *Model) compact(focus string) tea.Cmd {
	thread := m.chat.Thread
	return m.run(func(ctx context.Context) error { return m.link.Compact(ctx, thread, focus) })
}

func (m *Model) find(query string) tea.Cmd {
	if query == "" {
		m.remark(dim.Render("/search WORDS"))
		return nil
	}
	return m.search(query)
}
