package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	wire "parley.internal/protocol/agentfirst"
)

const (
	// maxLines is how far back one can scroll; the hub has the rest.
	maxLines = 10_000
	// farewell is how many lines stay on the terminal when the chat is left.
	farewell = 200
)

// Options are what a chat is about.
type Options struct {
	Agent, Sender, Thread, Guest string
}

// Model is the screen.
type Model struct {
	ctx    context.Context
	link   Link
	send   func(tea.Msg) // into the program, from goroutines
	follow context.CancelFunc

	chat   *Chat
	input  textarea.Model
	guest  string       // for every turn, until changed
	files  []Attachment // for the next turn
	saying map[int]saying
	turns  int
	agents []string
	height int

	history []string
	at      int // in history; len = not browsing
	draft   string

	leaving bool     // one more Ctrl-C leaves
	lines   []string // what has been said, as it was shown
	scroll  int      // lines between the end and what is shown
	kept    []kept   // what the lines were made of
	away    bool     // the hub is lost, and looked for
}

// saying is a turn of ours that is not over.
type saying struct {
	thread string
	stop   context.CancelFunc
}

// What happens besides keys.
type (
	eventMsg struct {
		thread string
		ev     *wire.ConversationEvent
		err    error
	}
	lostMsg struct { // the hub is gone, and is looked for
		thread string
		err    error
	}
	doneMsg struct{ err error } // something we asked for is done
	saidMsg struct {            // a turn is over
		turn int
		err  error
	}
	printMsg  struct{ lines []string }
	agentsMsg struct{ names []string }
)

// New makes the screen; Start must be called before events can come.
func New(ctx context.Context, link Link, o Options) *Model {
	input := textarea.New()
	input.Prompt, input.ShowLineNumbers, input.DynamicHeight, input.MinHeight, input.MaxHeight = "› ", false, true, 1, 10
	input.MaxContentHeight = 10_000
	input.Placeholder = "Say something; /help for more"
	input.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	input.SetHeight(1)
	input.Focus()
	return &Model{
		ctx: ctx, link: link, chat: NewChat(o.Agent, o.Sender, o.Thread), input: input, guest: o.Guest, height: 24, send: func(tea.Msg) {}, saying: map[int]saying{},
	}
}

// Run is a chat until the person leaves; its last lines stay on the terminal.
func Run(ctx context.Context, link Link, out io.Writer, o Options) error {
	m := New(ctx, link, o)
	p := tea.NewProgram(m, tea.WithContext(ctx))
	m.send = p.Send
	_, err := p.Run()
	if m.follow != nil {
		m.follow()
	}
	for _, line := range m.lines[max(0, len(m.lines)-farewell):] {
		fmt.Fprintln(out, line)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Init attaches and asks who there is.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(textarea.Blink, m.attach(), m.findAgents())
}

// attach follows the conversation from now on, in place of the one before.
func (m *Model) attach() tea.Cmd {
	if m.follow != nil {
		m.follow()
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.follow = cancel
	thread, send, link := m.chat.Thread, m.send, m.link
	return func() tea.Msg {
		for ev, err := range link.Attach(ctx, thread, func(err error) { send(lostMsg{thread, err}) }) {
			if ctx.Err() != nil {
				return nil
			}
			send(eventMsg{thread, ev, err})
		}
		return nil
	}
}

func (m *Model) findAgents() tea.Cmd {
	return func() tea.Msg {
		names, err := m.link.Agents(m.ctx)
		if err != nil {
			return doneMsg{err}
		}
		return agentsMsg{names}
	}
}

// Update takes in what happened.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		was := m.chat.Width
		m.chat.Width, m.height = max(20, msg.Width), msg.Height
		m.input.SetWidth(max(20, msg.Width))
		if was != m.chat.Width {
			m.rewrap()
		}
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case eventMsg:
		m.event(msg)
	case lostMsg:
		m.hubLost(msg)
	case agentsMsg:
		m.agents = msg.names
	case printMsg:
		m.remark(msg.lines...)
	case saidMsg:
		m.saying[msg.turn].stop()
		delete(m.saying, msg.turn)
		if !errors.Is(msg.err, context.Canceled) { // what was taken back is told as such in the conversation
			return m.Update(doneMsg{msg.err})
		}
	case doneMsg:
		if msg.err != nil && m.ctx.Err() == nil {
			m.remark(failure.Render(brief(msg.err.Error(), 400)))
		}
	default:
		var cmd tea.Cmd
		m.input, cmd = m.input.Update(msg)
		return m, cmd
	}
	return m, nil
}

func (m *Model) event(msg eventMsg) {
	switch {
	case msg.thread != m.chat.Thread: // of a thread that was left
	case msg.err != nil:
		m.remark(failure.Render(brief(msg.err.Error(), 400)))
	default:
		m.keep(kept{thread: msg.thread, event: msg.ev})
		m.print(m.chat.Apply(msg.ev)...)
		m.hubBack(msg.ev)
	}
}

// print adds lines to what has been said.
func (m *Model) print(texts ...string) {
	for _, text := range texts {
		added := strings.Split(text, "\n")
		m.lines = append(m.lines, added...)
		if m.scroll > 0 {
			m.scroll += len(added) // somebody reads further up: stay there
		}
	}
	if extra := len(m.lines) - maxLines; extra > 0 {
		m.lines = m.lines[extra:]
	}
	m.scrollBy(0)
}

func (m *Model) scrollBy(lines int) { m.scroll = min(max(0, m.scroll+lines), max(0, len(m.lines)-1)) }

// View is what has been said, what is going on, the question, the input and the
// status.
func (m *Model) View() tea.View {
	below := strings.Split(strings.Join(m.below(), "\n"), "\n")
	room := max(0, m.height-len(below))
	var above []string
	for i := len(m.lines) - m.scroll - 1; i >= 0 && len(above) < room; i-- {
		parts := wrap(m.lines[i], m.chat.Width, "") // the window may be narrower by now
		for _, part := range slices.Backward(parts) {
			above = append(above, part)
		}
	}
	above = above[:min(len(above), room)]
	slices.Reverse(above)
	blank := make([]string, room-len(above))
	v := tea.NewView(strings.Join(slices.Concat(blank, above, below), "\n"))
	v.AltScreen = true
	return v
}

// below is the lower part of the screen.
func (m *Model) below() (parts []string) {
	if going := m.chat.Going(max(3, m.height-m.input.Height()-6)); going != "" {
		parts = append(parts, going)
	}
	if menu := m.chat.Menu(); menu != nil {
		parts = append(parts, menu.View(m.chat.Width))
	}
	if w := m.chat.Consent(); w != nil {
		parts = append(parts, bold.Render("May it run "+brief(w.GetTool(), 60)+"?"), strings.Join(wrap(Clean(w.GetSummary()), m.chat.Width, ""), "\n"), dim.Render(answers(w)))
	}
	status := m.chat.Status()
	if m.guest != "" {
		status += dim.Render(" · guest " + m.guest)
	}
	if len(m.files) > 0 {
		names := make([]string, len(m.files))
		for i, f := range m.files {
			names[i] = f.Name
		}
		status += dim.Render(" · with " + brief(strings.Join(names, ", "), 60))
	}
	if m.scroll > 0 {
		status += dim.Render(" · PgDn for the newest")
	}
	if m.leaving {
		status += dim.Render(" · Ctrl-C again leaves")
	}
	return append(parts, m.input.View(), status)
}

// run makes a command of something that takes its time.
func (m *Model) run(what func(ctx context.Context) error) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg { return doneMsg{what(ctx)} }
}

func (m *Model) say(guest, text string, files []*wire.FileRef) tea.Cmd {
	ctx, stop := context.WithCancel(m.ctx)
	thread, turn := m.chat.Thread, m.turns
	m.turns++
	m.saying[turn] = saying{thread, stop}
	return func() tea.Msg { return saidMsg{turn, m.link.Say(ctx, thread, guest, text, files)} }
}

// takeBack stops turns of this thread that were sent and have not begun as far as
// can be seen here. It reports whether there was one.
func (m *Model) takeBack() (any bool) {
	for _, s := range m.saying {
		if s.thread == m.chat.Thread {
			s.stop()
			any = true
		}
	}
	return any
}

func (m *Model) cancel() tea.Cmd {
	thread := m.chat.Thread
	return m.run(func(ctx context.Context) error { return m.link.Cancel(ctx, thread) })
}

// whole tells that all of a call is on the screen. The hub ends what it cut with "…".
func whole(w *wire.Waiting) bool { return !strings.HasSuffix(w.GetSummary(), "…") }

// answers says which answers there are: nobody allows what they have not seen.
func answers(w *wire.Waiting) string {
	if whole(w) {
		return "y allows, n refuses (with an empty line)"
	}
	return "this is not all of it: see 'parley approvals show " + w.GetApprovalId() + "' or the page; n refuses (with an empty line)"
}

func (m *Model) approve(w *wire.Waiting, yes bool) tea.Cmd {
	if yes && !whole(w) {
		return nil
	}
	return m.run(func(ctx context.Context) error { return m.link.Approve(ctx, w.GetApprovalId(), yes) })
}

// show runs something that gives lines to print.
func (m *Model) show(what func(ctx context.Context) ([]string, error)) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg {
		lines, err := what(ctx)
		if err != nil {
			return doneMsg{err}
		}
		return printMsg{append(lines, "")}
	}
}

func (m *Model) archives() tea.Cmd {
	thread := m.chat.Thread
	return m.show(func(ctx context.Context) ([]string, error) {
		list, err := m.link.Archives(ctx, thread)
		lines := []string{bold.Render(fmt.Sprintf("%d archives", len(list)))}
		for _, a := range list {
			lines = append(lines, fmt.Sprintf("%s  %s  %s", dim.Render(Clean(when(a.GetArchivedAt()))), brief(a.GetTitle(), 80), dim.Render(a.GetId())))
		}
		return lines, err
	})
}

func (m *Model) search(query string) tea.Cmd {
	width := m.chat.Width
	return m.show(func(ctx context.Context) ([]string, error) {
		hits, err := m.link.Search(ctx, query)
		lines := []string{bold.Render(fmt.Sprintf("%d found", len(hits)))}
		for _, h := range hits {
			lines = append(lines, dim.Render(Clean(when(h.GetAt())+"  "+source(h)))+"  "+brief(h.GetSnippet(), width-30))
		}
		return lines, err
	})
}

// when is a time as people write it, to the minute; the wire's is in UTC.
func when(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return at
	}
	return t.Local().Format("2006-01-02 15:04")
}

// source says whose words a hit is.
func source(h *wire.Hit) string {
	if h.GetKind() == "message" {
		return cmp.Or(h.GetSpeaker(), h.GetRole())
	}
	return h.GetKind()
}
