package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
)

// The kinds of questions. Others may be used; the inbox treats all alike.
const (
	KindTool   = "tool"
	KindAsk    = "ask_user"
	KindBudget = "budget"
	KindSkill  = "skill"
	KindNote   = "note"
)

// Bounds of a question.
const (
	DefaultTimeout = 5 * time.Minute
	maxTimeout     = 30 * 24 * time.Hour
	maxArguments   = 4 << 20
	maxText        = 64 << 10
	maxPeople      = 100
)

// Request is a question to a person.
type Request struct {
	// ID may be chosen by the caller; empty makes a UUIDv7.
	ID string `json:"id"`
	// Principal is the id of the person whose inbox it goes to.
	Principal string `json:"principal"`
	Kind      string `json:"kind"`
	Title     string `json:"title,omitempty"`
	// Tool and Arguments are what will happen, exactly. Arguments is any JSON
	// and is kept byte for byte.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Target is what it will happen to: a machine, a room.
	Target string `json:"target,omitempty"`
	Reason string `json:"reason,omitempty"`
	// RequestedBy is who asks ("agent:parley"), OnBehalfOf for whom.
	RequestedBy string `json:"requested_by,omitempty"`
	OnBehalfOf  string `json:"on_behalf_of,omitempty"`
	// Asker is whoever wants it, or whose agent does, and how they came here. Neither
	// the credential they came with nor any that it made answers; see Policy.Screen.
	Asker Asker `json:"-"`
	// Taint tells that the run had read words of strangers; nil if not.
	Taint        *Taint     `json:"tainted,omitempty"`
	Task         string     `json:"task_id,omitempty"`
	Conversation string     `json:"conversation_id,omitempty"`
	Questions    []Question `json:"questions,omitempty"`
	// Timeout is how long it waits (default five minutes).
	Timeout time.Duration `json:"-"`
	// Quorum is how many different people must say yes (default one).
	Quorum int `json:"quorum"`
	// Policy says who may answer.
	Policy Policy `json:"-"`
	// MayRemember lets an answer hold for the rest of the task.
	MayRemember bool `json:"may_remember"`
	// Scene is what a standing rule of the person is held against; nil where the judge
	// wants a person to look at this very call.
	Scene *Scene `json:"-"`
}

// Question is one question with the options to choose from.
type Question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header,omitempty"`
	Options     []Option `json:"options,omitempty"`
	MultiSelect bool     `json:"multi_select,omitempty"`
}

// Option is one possible answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Policy says who may answer, beyond holding approval:respond. The principal
// may always, and so may admins.
type Policy struct {
	// People are ids of others who see the question and may answer it.
	People []string `json:"people,omitempty"`
	// Scope is one more scope the answering session must hold.
	Scope string `json:"scope,omitempty"`
	// Right is what the answering session must be allowed to do itself; nil asks for
	// nothing more.
	Right *Right `json:"right,omitempty"`
	// NotAsker wants the word of another person than the one who asked.
	NotAsker bool `json:"not_asker,omitempty"`
	// Screen lets the asking credential answer, too: it came by a wire whose client is
	// its person's own screen, a board or a chat, where one both asks and is asked.
	Screen bool `json:"screen,omitempty"`
}

// Right is a scope, and the machines it must reach.
type Right struct {
	Scope    string    `json:"scope"`
	Machines []Machine `json:"machines,omitempty"`
}

// Machine is a machine as the machine: and tag: limits of a grant see it.
type Machine struct {
	ID   string   `json:"id"`
	Tags []string `json:"tags,omitempty"`
}

// lacks says in words what keeps a grant from the right; "" means that it has it.
func (r *Right) lacks(granted identity.Scopes) string {
	if r == nil {
		return ""
	}
	if !granted.Has(r.Scope) {
		return "lacks the scope " + r.Scope + ", which what is asked needs"
	}
	for _, m := range r.Machines {
		if !granted.AllowsMachine(m.ID, m.Tags) {
			return "does not reach the machine " + m.ID + ", which what is asked is about"
		}
	}
	return ""
}

// item checks a request and makes the record of it.
func (r Request) item() (Item, error) {
	if err := r.check(); err != nil {
		return Item{}, err
	}
	if r.ID == "" {
		r.ID = ids.New()
	}
	if len(r.Arguments) == 0 {
		r.Arguments = json.RawMessage("{}")
	}
	if r.Timeout <= 0 {
		r.Timeout = DefaultTimeout
	}
	r.Timeout = min(r.Timeout, maxTimeout)
	r.Quorum = max(r.Quorum, 1)
	digest, err := audit.Digest(r.Arguments)
	if err != nil {
		return Item{}, fmt.Errorf("%w: the arguments are not JSON: %w", ErrInvalid, err)
	}
	for _, text := range []*string{&r.Title, &r.Tool, &r.Target, &r.Reason, &r.RequestedBy, &r.OnBehalfOf} {
		*text = fit.Storable(*text)
	}
	now := time.UnixMicro(time.Now().UnixMicro()).UTC()
	return Item{Request: r, Digest: digest, Created: now, Expires: now.Add(r.Timeout), Outcome: Outcome{State: StatePending, Answers: []string{}}}, nil
}

func (r Request) check() error {
	switch {
	case r.Principal == "":
		return fmt.Errorf("%w: whose inbox?", ErrInvalid)
	case r.Kind == "":
		return fmt.Errorf("%w: no kind", ErrInvalid)
	case len(r.Arguments) > maxArguments, len(r.Title)+len(r.Reason)+len(r.Target)+len(r.Tool) > maxText:
		return fmt.Errorf("%w: too large", ErrInvalid)
	case len(r.Policy.People) > maxPeople || slices.Contains(r.Policy.People, ""):
		return fmt.Errorf("%w: too many people, or one without id", ErrInvalid)
	case !utf8.Valid(r.Arguments):
		return fmt.Errorf("%w: the arguments are not UTF-8", ErrInvalid)
	case len(r.ID) > 200 || strings.ContainsFunc(r.ID+r.Principal+r.Kind+r.Task+r.Conversation, func(c rune) bool { return c < ' ' || c == utf8.RuneError }):
		return fmt.Errorf("%w: an id with odd characters", ErrInvalid)
	}
	return nil
}
