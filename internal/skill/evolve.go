package skill

import (
	"errors"

	"parley/protocol/mmp"
)

// evolve is the standard extension by which extensions travel. Whatever arrives is
// a document: it counts only after a person promoted it.
func (t *turn) evolve() (mmp.Result, error) {
	switch t.m.Action {
	case mmp.ActionProposeExtension:
		return t.proposed()
	case mmp.ActionEvaluateExtension:
		return t.evaluated()
	case mmp.ActionShareExtension:
		return t.shared()
	}
	p, err := t.m.ReadAdoptExtension()
	if err != nil {
		return t.invalid(err)
	}
	return t.result(mmp.ResultReceived, nil, map[string]any{"extension_name": p.Name, "adopted_layer": p.Layer}), nil
}

func (t *turn) result(status string, suggested any, fields map[string]any) mmp.Result {
	return mmp.Result{Status: status, Action: t.m.Action, From: t.m.From, Suggested: suggested, Fields: fields}
}

// ours finds the version of an extension that counts here, and its document.
func (t *turn) ours(name string) (version, hash, content string, err error) {
	promoted, err := listExtensions(t.tx, `WHERE me = ? AND name = ? AND state IN ('promoted', 'disabled') ORDER BY changed_at DESC`, t.host.ID, name)
	if err != nil || len(promoted) == 0 {
		for _, d := range append(mmp.StandardExtensions(), t.s.definitions()...) {
			if mmp.FoldExtension(d.Name) == mmp.FoldExtension(name) {
				return d.Version, d.Hash.Bare(), "", err
			}
		}
		return "", "", "", err
	}
	if promoted[0].State != mmp.ExtPromoted {
		return promoted[0].Version, promoted[0].Hash, "", nil
	}
	return promoted[0].Version, promoted[0].Hash, promoted[0].Content, nil
}

func (t *turn) check(name, version string, actions, requires []string, have string) (mmp.ExtensionCheck, error) {
	loaded, err := t.s.loaded(t.tx, t.host.ID)
	active := map[string]bool{}
	for _, d := range loaded.Active {
		active[mmp.FoldExtension(d.Name)] = true
	}
	return mmp.ExtensionCheck{
		Name: name, Version: version, Actions: actions, Requires: requires, AllowUnprefixed: t.s.c.AllowUnprefixed,
		Active: func(n string) bool { return active[n] }, HaveVersion: have,
	}, err
}

// turnDown answers a proposal with a ready decline.
func (t *turn) turnDown(status, reason string, problems []mmp.ExtensionProblem) (mmp.Result, error) {
	decline, err := t.m.Reply(mmp.ActionDecline, t.host.ID, mmp.DeclinePayload{Reason: mmp.DeclinePolicy, Message: reason}, t.now)
	return t.result(status, decline, map[string]any{"reason": reason, "problems": problems}), err
}

func (t *turn) proposed() (mmp.Result, error) {
	p, err := t.m.ReadProposeExtension()
	if err != nil {
		return t.invalid(err)
	}
	hash, err := mmp.ParseHash(p.ContentHash)
	if err != nil {
		return t.turnDown(mmp.ResultRejected, string(mmp.ExtHashMissing), nil)
	}
	version, have, _, err := t.ours(p.Name)
	if err != nil {
		return mmp.Result{}, err
	}
	if version != "" && (have == hash.Bare() || version == p.Version) {
		return t.turnDown(mmp.EvolutionAlreadyHave, mmp.EvolutionAlreadyHave, nil)
	}
	check, err := t.check(p.Name, p.Version, p.Actions, p.Requires, version)
	if err != nil {
		return mmp.Result{}, err
	}
	if problems := mmp.CheckExtension(check); len(problems) > 0 {
		return t.turnDown(mmp.ResultRejected, problemText(problems), problems)
	}
	e := Extension{
		me: t.host.ID, Name: p.Name, Version: p.Version, Hash: hash.Bare(), State: mmp.ExtPending, Sender: t.from.ID, Actions: p.Actions, provenance: "{}",
	}
	known, err := listExtensions(t.tx, `WHERE me = ? AND name = ? AND hash = ?`, t.host.ID, p.Name, hash.Bare())
	if err != nil {
		return mmp.Result{}, err
	}
	if len(known) > 0 && known[0].State != mmp.ExtPending && known[0].State != mmp.ExtEvaluating {
		return t.turnDown(mmp.ResultRejected, "decided before: "+string(known[0].State), nil)
	}
	reply, err := t.m.Reply(mmp.ActionEvaluateExtension, t.host.ID, mmp.EvaluateExtensionPayload{Name: p.Name, ContentHash: hash.Prefixed(), Intent: "review"}, t.now)
	if err != nil {
		return mmp.Result{}, err
	}
	e.message = reply.ID
	if err := errors.Join(e.save(t.tx, t.now), e.become(t.tx, mmp.ExtEvaluating, false, t.now)); err != nil {
		return mmp.Result{}, err
	}
	return t.result(mmp.EvolutionInterested, reply, map[string]any{"extension_name": p.Name}), nil
}

// evaluated hands out a document that counts here; nothing else.
func (t *turn) evaluated() (mmp.Result, error) {
	p, err := t.m.ReadEvaluateExtension()
	if err != nil {
		return t.invalid(err)
	}
	version, hash, content, err := t.ours(p.Name)
	if err != nil {
		return mmp.Result{}, err
	}
	if content == "" {
		content, version, err = t.s.documentOf(p.Name, p.ContentHash)
		if err != nil {
			return mmp.Result{}, err
		}
		hash = mmp.HashOf(content).Bare()
	}
	if content == "" || p.ContentHash != "" && !mmp.SameHash(hash, p.ContentHash) {
		reply, err := t.m.Reply(mmp.ActionError, t.host.ID, mmp.ErrorPayload{ErrorCode: mmp.CodeExtensionNotFound, Message: "No such extension here", Recoverable: true}, t.now)
		return t.result(mmp.EvolutionNotFound, reply, map[string]any{"extension_name": p.Name}), err
	}
	var none *mmp.Provenance
	provenance, err := none.Send(t.host.ID).SignHop(t.host.Ring.RSA, mmp.HashOf(content))
	if err != nil {
		return mmp.Result{}, err
	}
	reply, err := t.m.Reply(mmp.ActionShareExtension, t.host.ID, mmp.ShareExtensionPayload{
		Name: p.Name, Version: version, Content: content, ContentHash: mmp.HashOf(content).Prefixed(), Provenance: &provenance,
	}, t.now)
	return t.result(mmp.EvolutionSharing, reply, map[string]any{"extension_name": p.Name}), err
}

// shared judges a document somebody sent. It is adopted as a paper, nothing more.
func (t *turn) shared() (mmp.Result, error) {
	p, err := t.m.ReadShareExtension()
	if err != nil {
		return t.invalid(err)
	}
	e, err := scanExtension(t.tx.QueryRow(`SELECT `+extensionColumns+` FROM skill_extensions WHERE me = ? AND sender = ? AND name = ? AND message = ? AND state = 'evaluating'`,
		t.host.ID, t.from.ID, p.Name, t.m.RepliesTo()))
	if errors.Is(err, ErrNotFound) {
		return t.m.InvalidResult(t.host.ID, mmp.CodeInvalidPayload, "Nobody here asked for this extension", t.now)
	}
	if err != nil {
		return mmp.Result{}, err
	}
	version, _, _, err := t.ours(p.Name)
	if err != nil {
		return mmp.Result{}, err
	}
	check, err := t.check(e.Name, e.Version, nil, nil, version)
	if err != nil {
		return mmp.Result{}, err
	}
	_, problems := mmp.CheckExtensionContent(check, p, e.Hash, t.from.ID, t.host.ID)
	if len(problems) > 0 {
		e.Reason = problemText(problems)
		if err := e.become(t.tx, mmp.ExtRejected, false, t.now); err != nil {
			return mmp.Result{}, err
		}
		return t.turnDown(mmp.ResultRejected, e.Reason, problems)
	}
	if may, err := t.mayAskInbox(); err != nil || !may {
		return t.m.InvalidResult(t.host.ID, mmp.CodeRateLimited, "Too many questions for a person today", t.now)
	}
	e.Content, e.Findings = p.Content, t.s.scanner.Scan(p.Content)
	if d, err := mmp.ParseExtension(p.Content); err == nil {
		e.Actions = d.Actions
	}
	if err := e.become(t.tx, mmp.ExtAdopted, false, t.now); err != nil {
		return mmp.Result{}, err
	}
	t.note, t.exts = "asked", append(t.exts, e.Hash)
	reply, err := t.m.Reply(mmp.ActionAdoptExtension, t.host.ID, mmp.AdoptExtensionPayload{
		Name: e.Name, ContentHash: mmp.HashOf(p.Content).Prefixed(), Layer: mmp.AdoptedLayer, Result: "kept as a document; a person decides",
	}, t.now)
	return t.result(mmp.EvolutionAdopted, reply, map[string]any{"extension_name": e.Name, "adopted_layer": mmp.AdoptedLayer}), err
}
