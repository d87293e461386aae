package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// key is one key press.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return m.interrupt()
	}
	m.leaving = false
	empty := strings.TrimSpace(m.input.Value()) == ""
	if w := m.chat.Consent(); w != nil && empty && (name == "y" || name == "n") {
		return m.approve(w, name == "y")
	}
	if menu := m.chat.Menu(); menu != nil && empty {
		switch name {
		case "up":
			menu.Move(-1)
			return nil
		case "down":
			menu.Move(1)
			return nil
		case "space", " ":
			menu.Toggle()
			return nil
		}
	}
	switch name {
	case "ctrl+d":
		if empty {
			return tea.Quit
		}
	case "enter":
		return m.enter()
	case "pgup":
		m.scrollBy(m.height / 2)
		return nil
	case "pgdown":
		m.scrollBy(-m.height / 2)
		return nil
	case "tab":
		m.complete()
		return nil
	case "up":
		if m.input.Line() == 0 && m.browse(-1) {
			return nil
		}
	case "down":
		if m.input.Line() == m.input.LineCount()-1 && m.browse(1) {
			return nil
		}
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(k)
	return cmd
}

// interrupt cancels what runs; the second time it leaves.
func (m *Model) interrupt() tea.Cmd {
	if m.leaving {
		return tea.Quit
	}
	m.leaving = true
	if m.chat.Running() {
		return m.cancel()
	}
	if !m.takeBack() {
		m.input.Reset()
		m.files = nil
	}
	return nil
}

// enter sends what is typed.
func (m *Model) enter() tea.Cmd {
	text := strings.TrimRight(m.input.Value(), "\n ")
	if menu := m.chat.Menu(); menu != nil {
		m.input.Reset()
		if answer, done := menu.Choose(strings.TrimSpace(text)); done {
			id, thread := menu.ID, m.chat.Thread
			m.chat.menu = nil
			return m.run(func(ctx context.Context) error { return m.link.Reply(ctx, thread, id, answer) })
		}
		return nil
	}
	if strings.TrimSpace(text) == "" && len(m.files) == 0 {
		return nil
	}
	m.input.Reset()
	m.scroll = 0
	m.remember(text)
	if cmd, ours := m.command(text); ours {
		return cmd
	}
	guest, said := mention(text, m.agents)
	if guest == "" {
		guest = m.guest
	}
	files := m.files
	m.files = nil
	return m.say(guest, Compose(said, files), Stored(files))
}

// remember keeps a line to be brought back.
func (m *Model) remember(text string) {
	if text != "" && (len(m.history) == 0 || m.history[len(m.history)-1] != text) {
		m.history = append(m.history, text)
	}
	m.at = len(m.history)
}

// mention reads "@NAME text": a guest's turn, if there is such an agent.
func mention(text string, agents []string) (guest, said string) {
	rest, ok := strings.CutPrefix(text, "@")
	if !ok {
		return "", text
	}
	name, said, _ := strings.Cut(rest, " ")
	if !slices.Contains(agents, name) || strings.TrimSpace(said) == "" {
		return "", text
	}
	return name, strings.TrimSpace(said)
}

// browse goes through earlier lines. It reports whether there was one.
func (m *Model) browse(by int) bool {
	if m.at == len(m.history) {
		m.draft = m.input.Value()
	}
	to := m.at + by
	if to < 0 || to > len(m.history) {
		return false
	}
	m.at = to
	if to == len(m.history) {
		m.input.SetValue(m.draft)
	} else {
		m.input.SetValue(m.history[to])
	}
	m.input.MoveToEnd()
	return true
}

// complete finishes a name behind @, a command or a file to attach.
func (m *Model) complete() {
	text := m.input.Value()
	done := completion(text, m.agents)
	if path, ok := strings.CutPrefix(text, "/attach "); ok {
		path, _ = finish(path, paths(path))
		done = "/attach " + path
	}
	if done != text {
		m.input.SetValue(done)
		m.input.MoveToEnd()
	}
}

// completion is a text with its only word finished as far as it is certain.
func completion(text string, agents []string) string {
	if strings.ContainsAny(text, " \n") || text == "" {
		return text
	}
	var candidates []string
	switch text[0] {
	case '@':
		for _, a := range agents {
			candidates = append(candidates, "@"+a)
		}
	case '/':
		for _, c := range chatCommands() {
			candidates = append(candidates, c.name)
		}
	}
	done, certain := finish(text, candidates)
	if certain {
		return done + " "
	}
	return done
}

// finish is the beginning of a word as far as those it may mean agree; certain
// when only one is left.
func finish(text string, candidates []string) (common string, certain bool) {
	fit := slices.DeleteFunc(candidates, func(c string) bool { return !strings.HasPrefix(c, text) })
	if len(fit) == 0 {
		return text, false
	}
	common = fit[0]
	for _, c := range fit[1:] {
		for !strings.HasPrefix(c, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, ""), len(fit) == 1
}
