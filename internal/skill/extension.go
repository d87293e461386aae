package skill

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/scan"
	"parley.internal/internal/store"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// Extension is one proposed by somebody else, or defined in a file of this hub.
type Extension struct {
	Agent    string
	Name     string
	Version  string
	Hash     string
	State    meeting.ExtensionState
	Sender   string // empty for one of our own
	Content  string
	Actions  []string
	Findings []scan.Finding
	Reason   string
	Changed  time.Time
	// Approval is the question whether it may count, while it waits.
	Approval string

	me, approval, message, provenance string
	deadline                          int64
}

const extensionColumns = `me, name, version, hash, state, sender, content, actions, provenance, findings, approval, reason, message, changed_at, deadline`

func scanExtension(row store.Row) (Extension, error) {
	var e Extension
	var actions, findings string
	var changed int64
	err := row.Scan(&e.me, &e.Name, &e.Version, &e.Hash, &e.State, &e.Sender, &e.Content, &actions, &e.provenance, &findings, &e.approval, &e.Reason, &e.message, &changed, &e.deadline)
	if errors.Is(err, sql.ErrNoRows) {
		return e, ErrNotFound
	}
	if err != nil {
		return e, err
	}
	e.Changed = store.Time(changed)
	if e.State == meeting.ExtPendingPromotion {
		e.Approval = e.approval
	}
	return e, errors.Join(json.Unmarshal([]byte(actions), &e.Actions), json.Unmarshal([]byte(findings), &e.Findings))
}

func (e *Extension) save(tx *store.Tx, now time.Time) error {
	actions, err1 := json.Marshal(append([]string{}, e.Actions...))
	findings, err2 := json.Marshal(append([]scan.Finding{}, e.Findings...))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	e.Changed = now
	deadline := never
	switch e.State {
	case meeting.ExtAdopted, meeting.ExtPendingPromotion:
		deadline = store.Micros(now.Add(meeting.AdoptedTTL))
	case meeting.ExtPending, meeting.ExtEvaluating:
		deadline = store.Micros(now.Add(meeting.OfferTTL))
	}
	_, err := tx.Exec(`INSERT INTO skill_extensions (`+extensionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (me, name, hash) DO UPDATE SET state = excluded.state, content = excluded.content, actions = excluded.actions, provenance = excluded.provenance,
		findings = excluded.findings, approval = excluded.approval, reason = excluded.reason, message = excluded.message, changed_at = excluded.changed_at, deadline = excluded.deadline`,
		e.me, fit.Storable(e.Name), fit.Storable(e.Version), e.Hash, string(e.State), e.Sender, e.Content, fit.Storable(string(actions)), e.provenance, fit.Storable(string(findings)), e.approval,
		fit.Storable(e.Reason), e.message, store.Micros(now), deadline)
	return err
}

func (e *Extension) become(tx *store.Tx, next meeting.ExtensionState, person bool, now time.Time) error {
	if !e.State.CanBecome(next, person) {
		return ErrState
	}
	e.State = next
	return e.save(tx, now)
}

func listExtensions(tx *store.Tx, rest string, args ...any) ([]Extension, error) {
	out := []Extension{}
	err := tx.Each(store.IntoBy(&out, scanExtension), `SELECT `+extensionColumns+` FROM skill_extensions `+rest, args...)
	return out, err
}

// mostDocuments is how many files of extensions are read.
const mostDocuments = 100

// documents are the texts of the files that may define extensions, by name of file.
func (s *Skills) documents() iter.Seq2[string, string] {
	return func(yield func(name, text string) bool) {
		if s.c.Extensions == "" {
			return
		}
		root, err := os.OpenRoot(s.c.Extensions)
		if err != nil {
			return // no folder, no extensions
		}
		defer func() { _ = root.Close() }()
		names, _ := fs.Glob(root.FS(), "*.md") // sorted
		for _, name := range names[:min(len(names), mostDocuments)] {
			if text, err := readDocument(root, name); err == nil && !yield(name, text) {
				return
			}
		}
	}
}

func readDocument(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, mmp.MaxSkill+1))
	return string(text), err
}

// definitions are those of files, by name of file.
func (s *Skills) definitions() (out []meeting.Definition) {
	for name, text := range s.documents() {
		d, err := meeting.ParseExtension(text)
		if err != nil || !meeting.ValidCustomName(d.Name) && !s.c.AllowUnprefixed {
			s.d.Log.Warn("skills: an extension's file is not used", "file", name, "error", err)
			continue
		}
		out = append(out, d)
	}
	return out
}

// loaded is what an agent understands now: the standard, files, and what a person
// promoted.
func (s *Skills) loaded(tx *store.Tx, me string) (meeting.Loaded, error) {
	defs := append(meeting.StandardExtensions(), s.definitions()...)
	promoted, err := listExtensions(tx, `WHERE me = ? AND state = 'promoted' ORDER BY changed_at`, me)
	for _, e := range promoted {
		if d, err := meeting.ParseExtension(e.Content); err == nil {
			defs = append(defs, d)
		}
	}
	return meeting.LoadExtensions(defs), err
}

func actionsOf(l meeting.Loaded) []string {
	var out []string
	for _, d := range l.Active {
		for _, a := range d.Actions {
			if l.Owner[a] == d.Name {
				out = append(out, a)
			}
		}
	}
	return out
}

func extensionNames(l meeting.Loaded) []string {
	var out []string
	for _, d := range l.Active {
		out = append(out, d.Name)
	}
	return append(out, meeting.ExtensionAliases()...)
}

// Extensions lists what was proposed, and what this hub's files define or why not.
func (a Acting) Extensions(ctx context.Context) (all []Extension, off []meeting.SwitchedOff, err error) {
	mine, err := a.reach(ctx)
	if err != nil {
		return nil, nil, err
	}
	err = a.s.d.DB.Read(ctx, func(tx *store.Tx) error {
		if all, err = listExtensions(tx, `ORDER BY changed_at DESC LIMIT 500`); err != nil {
			return err
		}
		for i := range all {
			all[i].Agent = a.s.nameOf(all[i].me)
		}
		all = slices.DeleteFunc(all, func(e Extension) bool { return !mine.Has(e.Agent) })
		loaded := meeting.LoadExtensions(append(meeting.StandardExtensions(), a.s.definitions()...))
		for _, d := range loaded.Active {
			if meeting.ValidCustomName(d.Name) {
				all = append(all, Extension{Name: d.Name, Version: d.Version, Hash: d.Hash.Bare(), State: meeting.ExtPromoted, Actions: d.Actions})
			}
		}
		off = loaded.Off
		return nil
	})
	return all, off, err
}

func (s *Skills) nameOf(me string) string {
	for _, h := range s.Hosts() {
		if h.ID == me {
			return h.Name
		}
	}
	return me
}

// askPromotion asks a person whether an adopted extension may count.
func (s *Skills) askPromotion(ctx context.Context, h Host, hash string) {
	var e Extension
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		found, err := listExtensions(tx, `WHERE me = ? AND hash = ?`, h.ID, hash)
		if err != nil || len(found) == 0 {
			return errors.Join(err, ErrNotFound)
		}
		e = found[0]
		if e.State != meeting.ExtAdopted {
			return nil
		}
		e.approval = questionID("extension", h.ID, e.Name, hash)
		return e.become(tx, meeting.ExtPendingPromotion, false, s.now())
	})
	if err == nil && e.State == meeting.ExtPendingPromotion {
		err = s.putExtension(ctx, h, e)
	}
	if err != nil && ctx.Err() == nil {
		s.d.Log.Warn("skills: asking about an extension; it will be tried again", "error", err)
	}
}

func (s *Skills) putExtension(ctx context.Context, h Host, e Extension) error {
	args, err := json.Marshal(map[string]any{
		"extension": visible.Line(e.Name), "version": visible.Line(e.Version), "actions": e.Actions, "sender": e.Sender, "hash": e.Hash, "findings": e.Findings, "text": visible.Text(e.Content),
	})
	if err != nil {
		return err
	}
	err = s.question(ctx, h.Name, approval.Request{
		ID: e.approval, Kind: approval.KindSkill, Title: "Let " + h.Name + " understand " + visible.Line(e.Name), Tool: "extension", Arguments: args, Target: h.Name,
		Reason: "proposed by " + e.Sender + "; nothing in it runs", RequestedBy: "agent:" + h.Name, Questions: dangers(e.Findings), Timeout: meeting.AdoptedTTL,
	})
	if err != nil {
		return err
	}
	s.await(e.approval, func(ctx context.Context, o approval.Outcome) error {
		next := meeting.ExtRejected
		if o.Approved() && acknowledged(e.Findings, o.Answers) {
			next = meeting.ExtPromoted
		}
		_, err := s.moveExtension(ctx, firstText(o.By, "hub"), e.same, e.Hash, next, firstText(o.Reason, string(o.State)))
		return err
	})
	return nil
}

// SwitchExtension disables a promoted extension, or enables it again.
func (a Acting) SwitchExtension(ctx context.Context, hash string, on bool) (Extension, error) {
	mine, err := a.reach(ctx)
	if err != nil {
		return Extension{}, err
	}
	next := meeting.ExtDisabled
	if on {
		next = meeting.ExtPromoted
	}
	waits := false // the inbox decides that
	e, err := a.s.moveExtension(ctx, a.who.String(), func(e Extension) bool {
		is := mine.Has(a.s.nameOf(e.me))
		waits = waits || is && e.State == meeting.ExtPendingPromotion
		return is && !waits
	}, hash, next, "")
	if waits {
		err = ErrState
	}
	return e, err
}

// extensionActions are what the trail calls what a person made of an extension.
var extensionActions = map[meeting.ExtensionState]audit.Action{
	meeting.ExtPromoted: audit.ExtensionPromoted, meeting.ExtDisabled: audit.ExtensionDisabled, meeting.ExtRejected: audit.ExtensionRejected,
}

// same tells whether another row is about the same extension of the same agent.
func (e Extension) same(other Extension) bool { return e.me == other.me && e.Name == other.Name }

func (s *Skills) moveExtension(ctx context.Context, by string, which func(Extension) bool, hash string, next meeting.ExtensionState, reason string) (e Extension, err error) {
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		found, err := listExtensions(tx, `WHERE hash = ?`, hash)
		found = slices.DeleteFunc(found, func(e Extension) bool { return !which(e) })
		if err != nil || len(found) == 0 {
			return errors.Join(err, ErrNotFound)
		}
		e = found[0]
		e.Reason = reason
		if next == meeting.ExtRejected {
			e.Content = ""
		}
		if err := e.become(tx, next, true, s.now()); err != nil {
			return err
		}
		return s.d.Trail.AppendTx(tx, audit.Entry{Actor: by, Action: extensionActions[next], Target: e.Name, Digest: hash})
	})
	return e, err
}

// sweepExtensions forgets what nobody promoted in time.
func (s *Skills) sweepExtensions(ctx context.Context, h Host) error {
	var waiting []Extension
	err := s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		late, err := listExtensions(tx, `WHERE me = ? AND deadline <= ? LIMIT ?`, h.ID, store.Micros(s.now()), sweepPage)
		if err != nil {
			return err
		}
		for _, e := range late {
			e.Reason, e.Content = "timeout", ""
			if err := e.become(tx, meeting.ExtRejected, false, s.now()); err != nil {
				return err
			}
		}
		waiting, err = listExtensions(tx, `WHERE me = ? AND state IN ('adopted', 'pending_promotion')`, h.ID)
		return err
	})
	for _, e := range waiting {
		if e.State == meeting.ExtAdopted {
			s.askPromotion(ctx, h, e.Hash)
		} else {
			err = errors.Join(err, s.putExtension(ctx, h, e))
		}
	}
	return err
}

func problemText(all []meeting.ExtensionProblem) string {
	var out []string
	for _, p := range all {
		out = append(out, string(p.Reason))
	}
	return strings.Join(out, ", ")
}
