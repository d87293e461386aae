package talk

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
)

// maxNotesInPrompt is how much of the notes a prompt carries, newest first.
const maxNotesInPrompt = 4 << 10

// prepare builds all a run needs. The agent is looked up now, so that a changed
// file counts from this run on.
func (r *running) prepare(ctx context.Context) (spec brain.RunSpec, err error) {
	c := r.c
	if r.agent, err = c.t.agent(r.speaker); err != nil {
		return spec, err
	}
	if r.model, err = c.t.d.Models.Resolve(r.agent.Model); err != nil {
		return spec, err
	}
	if r.meter == nil {
		r.meter = brain.NewMeter(r.agent.Name, r.agent.Budget, c.t.d.Ledger)
	}
	if s, _, ok := r.skillIn(r.tn.Content); ok {
		r.narrow.use(s)
	}
	tools, err := r.tools(ctx)
	if err != nil {
		return spec, err
	}
	msgs, tagged := r.messages(ctx, tools)
	msgs = r.tn.briefed(msgs)
	r.base = len(msgs)
	m, filter := r.model, wholeText
	if tagged {
		m.Provider, filter = escaping{m.Provider}, plainText
	}
	spec = brain.RunSpec{
		Model: m,
		Request: model.Request{
			Purpose: r.purpose(), System: r.system(ctx), Messages: msgs,
			MaxOutput: r.agent.MaxOutputTokens, Temperature: r.agent.Temperature, Thinking: r.agent.Thinking,
		},
		Tools: tools, Call: r.template(), DropCalls: r.guest() && tools.Len() == 0,
		Policy: r.policy(), Approve: r.approve, Tainted: r.tainted || r.tn.Tainted || len(r.tn.Results) > 0 || brain.HasFiles(msgs), Show: r.showing(),
		MaxRounds: r.agent.MaxIterations, Timeout: r.agent.RunTimeout, Clock: &r.clock, Meter: r.meter,
		Store: r, Pending: r.pending, Compact: r.makeRoom, NewFilter: filter,
	}
	return spec, nil
}

func (r *running) guest() bool { return r.tn.Guest != "" }

func (r *running) purpose() model.Purpose {
	if r.guest() {
		return model.ForGuest
	}
	return model.ForTurn
}

// messages is the window as the speaker reads it, with its context injected, and whether there
// are tags around other agents' words in it.
func (r *running) messages(ctx context.Context, tools *tool.Set) (msgs []model.Message, tagged bool) {
	w := &r.c.window
	msgs = w.read(reading{name: r.speaker, expand: r.expand, toolMax: -1})
	if r.guest() {
		return inject(msgs, agentfirst.GuestFraming(r.c.key.Agent)), true
	}
	framing := ""
	if tagged = w.others(r.speaker); tagged {
		framing = agentfirst.PrimaryFraming()
	}
	return inject(msgs, r.members(tools), r.recalled(ctx), r.environment(), framing), tagged
}

// system is the part of the request that does not change from turn to turn.
func (r *running) system(ctx context.Context) string {
	parts := []string{r.agent.Prompt}
	if !r.guest() {
		parts = append(parts, r.notes(ctx), r.skillIndex())
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	return strings.Join(parts, "\n\n")
}

func (r *running) notes(ctx context.Context) string {
	list, err := r.c.t.d.Memory.Notes(ctx, r.c.key)
	if err != nil {
		r.c.t.d.Log.Warn("cannot read notes", "conversation", r.c.id, "error", err)
	}
	return notesText(list)
}

func notesText(list []memory.Note) string {
	var b strings.Builder
	for _, n := range list {
		line := fmt.Sprintf("- %s: %s\n", n.Name, strings.ReplaceAll(n.Text, "\n", "\n  "))
		if b.Len()+len(line) > maxNotesInPrompt {
			break
		}
		b.WriteString(line)
	}
	if b.Len() == 0 {
		return ""
	}
	return "Your notes about the person you are talking with:\n" + strings.TrimSuffix(b.String(), "\n")
}

// members tells whom the agent can delegate to.
func (r *running) members(tools *tool.Set) string {
	if _, ok := tools.Get(toolDelegate); !ok {
		return ""
	}
	var b strings.Builder
	for _, e := range r.c.t.d.Agents.List() {
		if e.Agent != nil && e.Name != r.speaker && r.agent.HasMember(e.Name) {
			fmt.Fprintf(&b, "\n- %s: %s", e.Name, e.Agent.Description)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Agents you can delegate to:" + b.String()
}

// environment is what changes from turn to turn.
func (r *running) environment() string {
	text := "Today is " + time.Now().UTC().Format("Monday, 2006-01-02") + " (UTC)."
	if dir := r.dir(); dir != "" {
		text += "\nThe person's working directory is " + dir + "."
	}
	return text
}

// policy is what the judge is told about the run's calls.
func (r *running) policy() brain.Policy {
	p := brain.PolicyFor(r.c.key.Sender, r.agent.AutoApprove, r.c.t.d.Commands)
	p.Rules = r.c.t.d.Rules
	return p
}

// showing puts the conversation's files before the model. What is in a file may be anybody's
// words, and the trail says which model was given them.
func (r *running) showing() *brain.Showing {
	c := r.c
	if c.t.d.Files == nil {
		return nil
	}
	return &brain.Showing{
		Model: r.model,
		Bytes: func(ctx context.Context, digest string) ([]byte, error) {
			return c.t.d.Files.Bytes(ctx, files.Conversation(c.id), digest)
		},
		Shown: func(f model.File) {
			detail := r.trace()
			detail["conversation"], detail["model"], detail["name"], detail["type"], detail["bytes"] = c.id, r.model.Ref.String(), f.Name, f.Type, f.Size
			c.t.note("agent:"+r.speaker, audit.FileShown, f.Digest, detail)
		},
		Withheld: func(f model.File, why string) {
			c.feed.publish(Event{Kind: Notice, Run: r.tn.id, Code: agentfirst.NoticeFileNotShown, Text: valid(fmt.Sprintf("%s was not shown to %s: %s", f.Name, r.speaker, why))})
		},
	}
}

// actor is the agent that speaks, as it acts for whoever wrote the turn.
func (r *running) actor() identity.Actor {
	return r.tn.By.ForAgent(r.speaker, identity.InConversation, r.c.id)
}

// template is what every call of a tool is told about the run.
func (r *running) template() tool.Call {
	call := tool.Call{
		Agent: r.speaker, Principal: r.c.key.Sender, Run: r.tn.id, Conversation: r.c.id, Workspace: r.workspace(), Dir: r.dir(), Actor: r.actor(),
	}
	if r.tn.Cwd != "" && call.Dir == "" {
		r.c.feed.publish(Event{
			Kind: Notice, Run: r.tn.id, Code: "cwd_ignored",
			Text: fmt.Sprintf("the working directory %q is outside the agent's workspace and was ignored", r.tn.Cwd),
		})
	}
	return call
}

func (r *running) workspace() string {
	return r.c.t.d.Workspace(r.c.whose, r.agent.Workspace)
}

// dir is the client's working directory if tools may work there.
func (r *running) dir() string {
	if r.tn.Cwd == "" || !filepath.IsAbs(r.tn.Cwd) {
		return ""
	}
	dir, err := filepath.EvalSymlinks(r.tn.Cwd)
	if err != nil {
		return ""
	}
	for _, root := range append([]string{r.workspace()}, r.c.t.d.Roots...) {
		if root == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator)) {
			return dir
		}
	}
	return ""
}

// escaping lets no text of a person that joins a request during its run, nor the agent's own, imitate the tags
// around other agents' words in it. Escaping twice changes nothing.
type escaping struct{ model.Provider }

// Stream implements model.Provider.
func (p escaping) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	changed := false
	for i := range req.Messages {
		m := &req.Messages[i]
		// Other agents' words are tagged already; they carry no calls. What tools gave stays as it is.
		if m.Injected || m.Role == model.Tool || m.Role == model.Assistant && len(m.Calls) == 0 {
			continue
		}
		text := agentfirst.EscapeFrom(m.Text)
		if len(text) == len(m.Text) {
			continue
		}
		if !changed {
			req.Messages, changed = slices.Clone(req.Messages), true
		}
		req.Messages[i].Text = text
	}
	return p.Provider.Stream(ctx, req)
}
