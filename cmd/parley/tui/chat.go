package tui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	wire "parley.internal/protocol/agentfirst"
)

// Chat is what a screen knows of a conversation. Apply takes what happens in and
// gives what is finished, to be printed.
type Chat struct {
	Agent, Sender, Thread string
	Width                 int

	live    *run
	waiting map[string]uint32 // turns that wait, by run
	menu    *Menu
	consent []*wire.Waiting

	tokens    uint64
	used      uint64
	limit     uint64
	cost      uint64
	costKnown bool
	caughtUp  bool
	deleted   bool
	seen      uint64 // the newest message shown
}

// run is the turn that is going on.
type run struct {
	id       string
	speaker  string
	text     strings.Builder
	thinking strings.Builder
	calls    []call
	begun    bool // its speaker was printed
	lost     bool // the hub was lost while it went on
}

type call struct{ id, name, arguments string }

// NewChat makes an empty one.
func NewChat(agent, sender, thread string) *Chat {
	return &Chat{Agent: agent, Sender: sender, Thread: thread, Width: 80, waiting: map[string]uint32{}}
}

// in is an empty chat of another thread on the same screen.
func (c *Chat) in(thread string) *Chat {
	next := NewChat(c.Agent, c.Sender, thread)
	next.Width = c.Width
	return next
}

// Running reports whether a turn is going on.
func (c *Chat) Running() bool { return c.live != nil }

// Deleted reports whether the conversation is gone.
func (c *Chat) Deleted() bool { return c.deleted }

// Menu is the question that waits, nil if none does.
func (c *Chat) Menu() *Menu { return c.menu }

// Consent is the approval that waits longest, nil if none does.
func (c *Chat) Consent() *wire.Waiting {
	if len(c.consent) == 0 {
		return nil
	}
	return c.consent[0]
}

// Lost notes that the hub is away. What waits is told again when it is back, and so is a run, if
// it goes on.
func (c *Chat) Lost() {
	if c.live != nil {
		c.live.lost = true
		c.live.text.Reset()
		c.live.thinking.Reset()
	}
	c.menu, c.consent = nil, nil
	clear(c.waiting)
}

// Apply takes one event in and returns what to print.
func (c *Chat) Apply(ev *wire.ConversationEvent) []string {
	switch e := ev.GetEvent().(type) {
	case *wire.ConversationEvent_Message:
		return c.message(e.Message)
	case *wire.ConversationEvent_CaughtUp:
		c.caughtUp = true
		if c.live != nil && c.live.lost {
			c.live = nil // it did not outlive the hub; what it said is among the messages
		}
	case *wire.ConversationEvent_Deleted:
		c.deleted = true
		return []string{failure.Render("This conversation was deleted.")}
	case *wire.ConversationEvent_Stream:
		return c.stream(ev.GetRunId(), e.Stream)
	}
	return nil
}

func (c *Chat) message(m *wire.HistoryMessage) []string {
	if m.GetSeq() != 0 && m.GetSeq() <= c.seen {
		return nil
	}
	c.seen = max(c.seen, m.GetSeq())
	switch {
	case m.GetSummary():
		return []string{dim.Render("— what came before —"), dim.Render(Render(m.GetContent(), c.Width)), ""}
	case m.GetRole() == "user":
		return append([]string{accent.Render(cmp.Or(c.Sender, wire.DefaultSender)), Render(Fold(m.GetContent())+filesOf(m), c.Width)}, ending(m)...)
	}
	return append([]string{c.speaker(cmp.Or(m.GetAgent(), c.Agent)), Render(m.GetContent(), c.Width)}, ending(m)...)
}

// ending is what stands below a message: how its turn ended, if not well, and a space.
func ending(m *wire.HistoryMessage) []string {
	if text := wire.OutcomeText(m.GetOutcome(), m.GetOutcomeCode()); text != "" {
		return []string{failure.Render("[" + Clean(text) + "]"), ""}
	}
	return []string{""}
}

func (c *Chat) speaker(name string) string {
	if name == c.Agent {
		return bold.Render(Clean(name))
	}
	return other.Render(Clean(name)) + dim.Render(" (guest)")
}

func (c *Chat) stream(id string, ev *wire.StreamEvent) []string {
	switch e := ev.GetEvent().(type) {
	case *wire.StreamEvent_Start:
		delete(c.waiting, e.Start.GetRunId())
		c.live = &run{id: cmp.Or(e.Start.GetRunId(), id), speaker: e.Start.GetAgent()}
	case *wire.StreamEvent_Queued:
		c.waiting[e.Queued.GetRunId()] = e.Queued.GetPosition()
	case *wire.StreamEvent_Steered:
		delete(c.waiting, id)
		c.seen = max(c.seen, e.Steered.GetSeq())
		return append(c.flush(), accent.Render(cmp.Or(c.Sender, wire.DefaultSender))+dim.Render(" (joins in)"), Render(Fold(e.Steered.GetContent()), c.Width), "")
	case *wire.StreamEvent_Compacted:
		return []string{dim.Render(Clean(fmt.Sprintf("— archived %d messages: %s —", e.Compacted.GetMessages(), e.Compacted.GetTitle()))), ""}
	case *wire.StreamEvent_Notice:
		if e.Notice.GetCode() == wire.NoticeTitled {
			return []string{dim.Render("— titled: " + brief(e.Notice.GetText(), c.Width-12) + " —"), ""}
		}
		return []string{dim.Render(Clean(e.Notice.GetText()))}
	case *wire.StreamEvent_End:
		return c.end(id, e.End)
	case *wire.StreamEvent_RoundUsage:
		c.used, c.limit = e.RoundUsage.GetContextUsed(), e.RoundUsage.GetContextLimit()
	default:
		return c.inRun(ev)
	}
	return nil
}

// inRun is for events that mean nothing without a run.
func (c *Chat) inRun(ev *wire.StreamEvent) []string {
	if c.live == nil {
		c.live = &run{speaker: c.Agent}
	}
	switch e := ev.GetEvent().(type) {
	case *wire.StreamEvent_Chunk:
		c.live.text.WriteString(e.Chunk.GetContent())
	case *wire.StreamEvent_Thinking:
		c.live.thinking.WriteString(e.Thinking.GetContent())
	case *wire.StreamEvent_ToolStart:
		return c.toolStart(e.ToolStart)
	case *wire.StreamEvent_ToolResult:
		return c.toolResult(e.ToolResult)
	case *wire.StreamEvent_ToolsComplete:
		c.live.calls = nil
	case *wire.StreamEvent_AskUser:
		c.menu = NewMenu(e.AskUser)
		return c.flush()
	case *wire.StreamEvent_AskResolved:
		if c.menu != nil && c.menu.ID == e.AskResolved.GetAskId() {
			c.menu = nil
		}
	case *wire.StreamEvent_Waiting:
		return c.approval(e.Waiting)
	}
	return nil
}

func (c *Chat) approval(w *wire.Waiting) []string {
	c.consent = slices.DeleteFunc(c.consent, func(v *wire.Waiting) bool { return v.GetApprovalId() == w.GetApprovalId() })
	if w.GetResolved() == "" {
		c.consent = append(c.consent, w)
		return c.flush()
	}
	return c.under([]string{dim.Render(Clean(fmt.Sprintf("%s: %s", w.GetTool(), w.GetResolved())))})
}

// flush prints what the run said so far, below its speaker's name.
func (c *Chat) flush() []string {
	r := c.live
	if r == nil {
		return nil
	}
	var out []string
	if t := strings.TrimSpace(r.thinking.String()); t != "" {
		out = append(out, dim.Render(Render(t, c.Width)))
	}
	if t := r.text.String(); strings.TrimSpace(t) != "" {
		out = append(out, Render(t, c.Width))
	}
	r.text.Reset()
	r.thinking.Reset()
	return c.under(out)
}

// under puts the speaker's name over the first thing a run prints.
func (c *Chat) under(lines []string) []string {
	if len(lines) == 0 || c.live == nil || c.live.begun {
		return lines
	}
	c.live.begun = true
	return append([]string{c.speaker(c.live.speaker)}, lines...)
}

// toolStart comes twice: first with names only, then complete.
func (c *Chat) toolStart(t *wire.ToolStart) []string {
	out := c.flush()
	for _, v := range t.GetCalls() {
		if v.GetArguments() != "" {
			c.live.calls = append(c.live.calls, call{v.GetCallId(), v.GetName(), v.GetArguments()})
		}
	}
	return out
}

func (c *Chat) toolResult(t *wire.ToolResult) []string {
	line := toolLine(c.live.calls, t.GetCallId(), c.Width-24)
	took := time.Duration(t.GetDurationMs()) * time.Millisecond
	if t.GetIsError() {
		return c.under([]string{failure.Render("✗ "+line) + dim.Render(" "+brief(t.GetOutput(), c.Width))})
	}
	return c.under([]string{dim.Render(fmt.Sprintf("✓ %s  %s", line, took))})
}

func toolLine(calls []call, id string, width int) string {
	for _, v := range calls {
		if v.id == id {
			return brief(v.name+" "+v.arguments, width)
		}
	}
	return "tool"
}

// brief is one clean line of at most n characters.
func brief(s string, n int) string {
	s = strings.Join(strings.Fields(Clean(s)), " ")
	if r := []rune(s); len(r) > max(n, 10) {
		return string(r[:max(n, 10)-1]) + "…"
	}
	return s
}

func (c *Chat) end(id string, e *wire.StreamEnd) []string {
	delete(c.waiting, id)
	c.seen = max(c.seen, e.GetSeq())
	u := e.GetUsage()
	c.tokens += uint64(u.GetTotalTokens())
	if u != nil && u.CostMicros != nil {
		c.cost += u.GetCostMicros()
		c.costKnown = true
	}
	if c.live != nil && c.live.id != "" && id != "" && c.live.id != id {
		return nil // a turn that waited ended without beginning
	}
	if c.live == nil {
		c.live = &run{speaker: e.GetAgent()}
	}
	out := c.flush()
	if e.GetError() != "" {
		out = append(out, c.under([]string{failure.Render(Clean(e.GetError()))})...)
	}
	begun := c.live.begun
	c.live, c.menu, c.consent = nil, nil, nil
	if !begun {
		return nil
	}
	return append(out, "")
}

// Going is what is going on, at most height lines, newest last.
func (c *Chat) Going(height int) string {
	if c.live == nil {
		return ""
	}
	var lines []string
	if !c.live.begun {
		lines = append(lines, c.speaker(c.live.speaker))
	}
	if t := strings.TrimSpace(c.live.thinking.String()); t != "" {
		lines = append(lines, strings.Split(dim.Render(Render(tail(t, 600), c.Width)), "\n")...)
	}
	if t := c.live.text.String(); t != "" {
		lines = append(lines, strings.Split(Render(tail(t, 8000), c.Width), "\n")...)
	}
	for _, v := range c.live.calls {
		lines = append(lines, dim.Render("⚙ "+brief(v.name+" "+v.arguments, c.Width-4)))
	}
	if len(lines) > height {
		lines = lines[len(lines)-height:]
	}
	return strings.Join(lines, "\n")
}

// tail is the end of a text, from the beginning of a line if there is one: only
// that is redrawn while a long answer grows.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = strings.ToValidUTF8(s[len(s)-n:], "")
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		return rest
	}
	return s
}

// Status is the line at the bottom.
func (c *Chat) Status() string {
	parts := []string{Clean(c.Agent)}
	if c.Thread != "" {
		parts = append(parts, "#"+Clean(c.Thread))
	}
	parts = append(parts, fmt.Sprintf("%d tokens", c.tokens))
	switch {
	case c.limit > 0:
		parts = append(parts, fmt.Sprintf("context %d%%", c.used*100/c.limit))
	case c.used > 0:
		parts = append(parts, fmt.Sprintf("context %d", c.used))
	}
	if c.costKnown {
		parts = append(parts, fmt.Sprintf("$%.4f", float64(c.cost)/1e6))
	}
	if n := len(c.waiting); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	switch {
	case c.live != nil:
		parts = append(parts, "running, Ctrl-C cancels")
	case !c.caughtUp:
		parts = append(parts, "connecting")
	}
	return dim.Render(strings.Join(parts, " · "))
}

// Menu is a question with its options: one part at a time.
type Menu struct {
	ID      string
	parts   []*wire.Question
	part    int
	cursor  int
	picked  map[int]bool
	answers map[string]string
}

// NewMenu makes the menu of a question.
func NewMenu(q *wire.AskUser) *Menu {
	return &Menu{ID: q.GetAskId(), parts: q.GetQuestions(), picked: map[int]bool{}, answers: map[string]string{}}
}

func (m *Menu) question() *wire.Question {
	if m.part >= len(m.parts) {
		return &wire.Question{}
	}
	return m.parts[m.part]
}

// Move goes up or down.
func (m *Menu) Move(by int) {
	if n := len(m.question().GetOptions()); n > 0 {
		m.cursor = (m.cursor + by + n) % n
	}
}

// Toggle marks an option where several may be chosen.
func (m *Menu) Toggle() {
	if m.question().GetMultiSelect() {
		m.picked[m.cursor] = !m.picked[m.cursor]
	}
}

// Choose answers the part that is shown, with free text or with what is marked.
// done is true when nothing is left to answer; answer is what to reply.
func (m *Menu) Choose(text string) (answer string, done bool) {
	q := m.question()
	if text == "" {
		text = strings.Join(m.labels(), ", ")
	}
	m.answers[q.GetQuestion()] = text
	m.part, m.cursor, m.picked = m.part+1, 0, map[int]bool{}
	if m.part < len(m.parts) {
		return "", false
	}
	raw, err := json.Marshal(m.answers)
	if err != nil {
		return text, true
	}
	return string(raw), true
}

func (m *Menu) labels() (out []string) {
	options := m.question().GetOptions()
	for i, o := range options {
		if m.picked[i] {
			out = append(out, o.GetLabel())
		}
	}
	if len(out) == 0 && m.cursor < len(options) {
		out = append(out, options[m.cursor].GetLabel())
	}
	return out
}

// View shows the part to be answered.
func (m *Menu) View(width int) string {
	q := m.question()
	lines := []string{bold.Render(brief(q.GetHeader(), width)), Render(q.GetQuestion(), width)}
	for i, o := range q.GetOptions() {
		mark := "  "
		if i == m.cursor {
			mark = accent.Render("› ")
		}
		if q.GetMultiSelect() {
			box := "[ ] "
			if m.picked[i] {
				box = "[x] "
			}
			mark += box
		}
		lines = append(lines, mark+brief(o.GetLabel(), width)+dim.Render("  "+brief(o.GetDescription(), width)))
	}
	hint := "Enter answers; or type your own answer"
	if q.GetMultiSelect() {
		hint = "Space marks, Enter answers; or type your own answer"
	}
	return strings.Join(append(lines, dim.Render(hint)), "\n")
}

// filesOf names the pictures, PDFs and voice notes that go along with a message.
func filesOf(m *wire.HistoryMessage) string {
	var b strings.Builder
	for _, f := range m.GetFiles() {
		fmt.Fprintf(&b, "\n[%s: %s, %s]", f.GetType(), f.GetName(), fileSize(int(f.GetSize())))
	}
	return b.String()
}
