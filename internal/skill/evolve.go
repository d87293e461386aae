package skill

import (
	"errors"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// evolve is the standard extension by which extensions travel. Whatever arrives is
// a document: it counts only after a person promoted it.
func (t *turn) evolve() (meeting.Result, error) {
	switch t.m.Action {
	case meeting.ActionProposeExtension:
		return t.proposed()
	case meeting.ActionEvaluateExtension:
		return t.evaluated()
	case meeting.ActionShareExtension:
		return t.shared()
	}
	p, err := t.m.ReadAdoptExtension()
	if err != nil {
		return t.invalid(err)
	}
	return t.result(meeting.ResultReceived, nil, map[string]any{"extension_name": p.Name, "adopted_layer": p.Layer}), nil
}

func (t *turn) result(status string, suggested any, fields map[string]any) meeting.Result {
	return meeting.Result{Status: status, Action: t.m.Action, From: t.m.From, Suggested: suggested, Fields: fields}
}

// ours finds the version of an extension that counts here, and its document.
func (t *turn) ours(name string) (version, hash, content string, err error) {
	promoted, err := listExtensions(t.tx, `WHERE me = ? AND name = ? AND state IN ('promoted', 'disabled') ORDER BY changed_at DESC`, t.host.ID, name)
	if err != nil || len(promoted) == 0 {
		for _, d := range append(meeting.StandardExtensions(), t.s.definitions()...) {
			if meeting.FoldExtension(d.Name) == meeting.FoldExtension(name) {
				return d.Version, d.Hash.Bare(), "", err
			}
		}
		return "", "", "", err
	}
	if promoted[0].State != meeting.ExtPromoted {
		return promoted[0].Version, promoted[0].Hash, "", nil
	}
	return promoted[0].Version, promoted[0].Hash, promoted[0].Content, nil
}

func (t *turn) check(name, version string, actions, requires []string, have string) (meeting.ExtensionCheck, error) {
	loaded, err := t.s.loaded(t.tx, t.host.ID)
	active := map[string]bool{}
	for _, d := range loaded.Active {
		active[meeting.FoldExtension(d.Name)] = true
	}
	return meeting.ExtensionCheck{
		Name: name, Version: version, Actions: actions, Requires: requires, AllowUnprefixed: t.s.c.AllowUnprefixed,
		Active: func(n string) bool { return active[n] }, HaveVersion: have,
	}, err
}

// turnDown answers a proposal with a ready decline.
func (t *turn) turnDown(status, reason string, problems []meeting.ExtensionProblem) (meeting.Result, error) {
	decline, err := t.m.Reply(meeting.ActionDecline, t.host.ID, meeting.DeclinePayload{Reason: meeting.DeclinePolicy, Message: reason}, t.now)
	return t.result(status, decline, map[string]any{"reason": reason, "problems": problems}), err
}

func (t *turn) proposed() (meeting.Result, error) {
	p, err := t.m.ReadProposeExtension()
	if err != nil {
		return t.invalid(err)
	}
	hash, err := mmp.ParseHash(p.ContentHash)
	if err != nil {
		return t.turnDown(meeting.ResultRejected, string(meeting.ExtHashMissing), nil)
	}
	version, have, _, err := t.ours(p.Name)
	if err != nil {
		return meeting.Result{}, err
	}
	if version != "" && (have == hash.Bare() || version == p.Version) {
		return t.turnDown(meeting.EvolutionAlreadyHave, meeting.EvolutionAlreadyHave, nil)
	}
	check, err := t.check(p.Name, p.Version, p.Actions, p.Requires, version)
	if err != nil {
		return meeting.Result{}, err
	}
	if problems := meeting.CheckExtension(check); len(problems) > 0 {
		return t.turnDown(meeting.ResultRejected, problemText(problems), problems)
	}
	e := Extension{
		me: t.host.ID, Name: p.Name, Version: p.Version, Hash: hash.Bare(), State: meeting.ExtPending, Sender: t.from.ID, Actions: p.Actions, provenance: "{}",
	}
	known, err := listExtensions(t.tx, `WHERE me = ? AND name = ? AND hash = ?`, t.host.ID, p.Name, hash.Bare())
	if err != nil {
		return meeting.Result{}, err
	}
	if len(known) > 0 && known[0].State != meeting.ExtPending && known[0].State != meeting.ExtEvaluating {
		return t.turnDown(meeting.ResultRejected, "decided before: "+string(known[0].State), nil)
	}
	reply, err := t.m.Reply(meeting.ActionEvaluateExtension, t.host.ID, meeting.EvaluateExtensionPayload{Name: p.Name, ContentHash: hash.Prefixed(), Intent: "review"}, t.now)
	if err != nil {
		return meeting.Result{}, err
	}
	e.message = reply.ID
	if err := errors.Join(e.save(t.tx, t.now), e.become(t.tx, meeting.ExtEvaluating, false, t.now)); err != nil {
		return meeting.Result{}, err
	}
	return t.result(meeting.EvolutionInterested, reply, map[string]any{"extension_name": p.Name}), nil
}

// evaluated hands out a document that counts here; nothing else.
func (t *turn) evaluated() (meeting.Result, error) {
	p, err := t.m.ReadEvaluateExtension()
	if err != nil {
		return t.invalid(err)
	}
	version, hash, content, err := t.ours(p.Name)
	if err != nil {
		return meeting.Result{}, err
	}
	if content == "" {
		content, version = t.s.documentOf(p.Name, p.ContentHash)
		hash = mmp.HashOf(content).Bare()
	}
	if content == "" || p.ContentHash != "" && !mmp.SameHash(hash, p.ContentHash) {
		reply, err := t.m.Reply(meeting.ActionError, t.host.ID, meeting.ErrorPayload{ErrorCode: meeting.CodeExtensionNotFound, Message: "No such extension here", Recoverable: true}, t.now)
		return t.result(meeting.EvolutionNotFound, reply, map[string]any{"extension_name": p.Name}), err
	}
	var none *meeting.Provenance
	provenance, err := none.Send(t.host.ID).SignHop(t.host.Ring.RSA, mmp.HashOf(content))
	if err != nil {
		return meeting.Result{}, err
	}
	reply, err := t.m.Reply(meeting.ActionShareExtension, t.host.ID, meeting.ShareExtensionPayload{
		Name: p.Name, Version: version, Content: content, ContentHash: mmp.HashOf(content).Prefixed(), Provenance: &provenance,
	}, t.now)
	return t.result(meeting.EvolutionSharing, reply, map[string]any{"extension_name": p.Name}), err
}

// shared judges a document somebody sent. It is adopted as a paper, nothing more.
func (t *turn) shared() (meeting.Result, error) {
	p, err := t.m.ReadShareExtension()
	if err != nil {
		return t.invalid(err)
	}
	e, err := scanExtension(t.tx.QueryRow(`SELECT `+extensionColumns+` FROM skill_extensions WHERE me = ? AND sender = ? AND name = ? AND message = ? AND state = 'evaluating'`,
		t.host.ID, t.from.ID, p.Name, t.m.RepliesTo()))
	if errors.Is(err, ErrNotFound) {
		return t.m.InvalidResult(t.host.ID, meeting.CodeInvalidPayload, "Nobody here asked for this extension", t.now)
	}
	if err != nil {
		return meeting.Result{}, err
	}
	version, _, _, err := t.ours(p.Name)
	if err != nil {
		return meeting.Result{}, err
	}
	check, err := t.check(e.Name, e.Version, nil, nil, version)
	if err != nil {
		return meeting.Result{}, err
	}
	_, problems := meeting.CheckExtensionContent(check, p, e.Hash, t.from.ID, t.host.ID)
	if len(problems) > 0 {
		e.Reason = problemText(problems)
		if err := e.become(t.tx, meeting.ExtRejected, false, t.now); err != nil {
			return meeting.Result{}, err
		}
		return t.turnDown(meeting.ResultRejected, e.Reason, problems)
	}
	if may, err := t.mayAskInbox(); err != nil || !may {
		return t.m.InvalidResult(t.host.ID, meeting.CodeRateLimited, "Too many questions for a person today", t.now)
	}
	e.Content, e.Findings = p.Content, t.s.scanner.Scan(p.Content)
	if d, err := meeting.ParseExtension(p.Content); err == nil {
		e.Actions = d.Actions
	}
	if err := e.become(t.tx, meeting.ExtAdopted, false, t.now); err != nil {
		return meeting.Result{}, err
	}
	t.note, t.exts = "asked", append(t.exts, e.Hash)
	reply, err := t.m.Reply(meeting.ActionAdoptExtension, t.host.ID, meeting.AdoptExtensionPayload{
		Name: e.Name, ContentHash: mmp.HashOf(p.Content).Prefixed(), Layer: meeting.AdoptedLayer, Result: "kept as a document; a person decides",
	}, t.now)
	return t.result(meeting.EvolutionAdopted, reply, map[string]any{"extension_name": e.Name, "adopted_layer": meeting.AdoptedLayer}), err
}
