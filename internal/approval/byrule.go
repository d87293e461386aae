package approval

import (
	"context"
	"strings"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// Scene is what a call would do and where, besides its arguments: what a standing rule
// must name before it answers in its person's place.
type Scene struct {
	// Agent wants it. Folder is where a command runs, as seen from the agent's workspace.
	Agent  string `json:"agent"`
	Folder string `json:"folder,omitempty"`
	// Read and Write are folders outside of the box, Hosts whom the call would speak to.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
}

// Rules are standing answers of people.
type Rules interface {
	// Find gives the rules that would answer a question.
	Find(ctx context.Context, item Item) ([]Standing, error)
	// Spend counts one use of a rule; false says that it has ended or is used up.
	Spend(tx *store.Tx, s Standing, item Item) (bool, error)
}

// Standing is a rule that would answer: its maker as they stand now, and itself in words.
type Standing struct {
	ID    string
	Maker identity.Actor
	Words string
}

// byRule is how an outcome names the rule that decided.
const byRule = "rule:"

// ByRule reports whether an outcome's By names a standing rule and no person. Such a yes
// holds for exactly one call.
func ByRule(by string) bool { return strings.HasPrefix(by, byRule) }

// Ruled reports whether a standing rule would answer a question at this moment.
func (in *Inbox) Ruled(ctx context.Context, req Request) bool {
	item, found := in.ruling(ctx, req)
	for _, s := range found {
		var refused error
		err := in.db.Read(ctx, func(tx *store.Tx) error { refused = item.mayRule(tx, s); return nil })
		if err == nil && refused == nil {
			return true
		}
	}
	return false
}

// AnswerByRule has a standing rule answer a question, if there is one: it is then in the
// record as asked and approved, and nobody is asked. The use is counted in the same
// transaction, so that no crash gives it back and no two questions have the last one.
func (in *Inbox) AnswerByRule(ctx context.Context, req Request) (Outcome, bool) {
	item, found := in.ruling(ctx, req)
	for _, s := range found {
		var answered Item
		done := false
		err := in.db.Write(ctx, func(tx *store.Tx) (err error) {
			answered, done, err = in.spend(tx, item, s)
			return err
		})
		if err != nil {
			in.opts.Logger.Warn("a standing rule could not answer; a person is asked", "rule", s.ID, "error", err)
			return Outcome{}, false
		}
		if done {
			in.announce(answered)
			return answered.Outcome, true
		}
	}
	return Outcome{}, false
}

// ruling finds the rules about a question. What wants several people is never theirs, nor
// what a model wants over MCP, which may have read anything.
func (in *Inbox) ruling(ctx context.Context, req Request) (Item, []Standing) {
	if in.opts.Rules == nil || req.Scene == nil || req.Kind != KindTool || req.Taint != nil || req.Quorum > 1 || req.Asker.Via.Where == identity.AtMCP {
		return Item{}, nil
	}
	item, err := req.item()
	if err != nil {
		return Item{}, nil
	}
	found, err := in.opts.Rules.Find(ctx, item)
	if err != nil {
		in.opts.Logger.Warn("standing rules cannot be read; a person is asked", "error", err)
	}
	return item, found
}

// mayRule says whether a rule may decide: where its maker could, in person and now.
func (i Item) mayRule(tx *store.Tx, s Standing) error {
	if s.Maker.Person.ID != i.Principal || i.Asker.Person.ID != i.Principal {
		return ErrForbidden // an admin's rules are about the admin's own agents, too
	}
	return i.mayAnswer(tx, s.Maker)
}

// spend counts the use and writes the question down, asked and answered.
func (in *Inbox) spend(tx *store.Tx, item Item, s Standing) (Item, bool, error) {
	if item.mayRule(tx, s) != nil {
		return item, false, nil
	}
	if ok, err := in.opts.Rules.Spend(tx, s, item); err != nil || !ok {
		return item, false, err
	}
	asking := &Asking{in: in, item: item}
	if err := asking.Write(tx); err != nil {
		return item, false, err
	}
	out := Outcome{State: StateApproved, By: byRule + s.ID, Reason: s.Words, Remember: RememberOnce}
	item, err := in.resolve(tx, asking.item, out, map[string]any{"rule_of": s.Maker.Person.ID})
	return item, err == nil, err
}
