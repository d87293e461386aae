package skill

import (
	"errors"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// exchange is the standard extension for skills.
func (t *turn) exchange() (meeting.Result, error) {
	switch t.m.Action {
	case meeting.ActionOfferSkill:
		return t.offered()
	case meeting.ActionRequestSkill:
		return t.requested()
	case meeting.ActionAccept:
		return t.accepted()
	case meeting.ActionDecline:
		return t.declined()
	case meeting.ActionSkillContent:
		return t.content()
	}
	return t.reflected()
}

// refuse turns an offer away with a ready decline.
func (t *turn) refuse(reason string) (meeting.Result, error) {
	decline, err := t.m.Reply(meeting.ActionDecline, t.host.ID, meeting.DeclinePayload{Reason: reason}, t.now)
	return t.m.RejectResult(reason, decline), err
}

// offered notes an offer. One that came by relay is accepted at once: what arrives
// goes into quarantine, and a person decides there.
func (t *turn) offered() (meeting.Result, error) {
	if !meeting.FormatAllowed(t.m.OfferedFormat(), t.formats()...) {
		return t.refuse(meeting.DeclineFormat)
	}
	if t.level == L2 && !t.s.c.L2Offers {
		return t.refuse(meeting.DeclinePolicy)
	}
	p, err := t.m.ReadOfferSkill()
	if err != nil {
		return t.invalid(err)
	}
	room, err := t.roomFor(0)
	if err != nil {
		return meeting.Result{}, err
	}
	if !room {
		return t.refuse(meeting.DeclineCapacity)
	}
	if refused, err := t.refusedBefore(p.ContentHash); err != nil || refused {
		if err != nil {
			return meeting.Result{}, err
		}
		return t.refuse(meeting.DeclineUser)
	}
	if err := t.answersRequest(); err != nil {
		return meeting.Result{}, err
	}
	e := t.newExchange(meeting.SideReceiving)
	e.SkillID, e.SkillName, e.Summary, e.Tags, e.Format = p.SkillID, p.SkillName, p.SkillSummary, p.Tags, p.SkillFormat
	if h, err := mmp.ParseHash(p.ContentHash); err == nil {
		e.Hash = h.Bare()
	}
	if err := e.become(t.tx, meeting.ExOfferReceived, t.now); err != nil {
		return meeting.Result{}, err
	}
	if !t.from.Direct {
		if err := t.takeOffer(&e); err != nil {
			return meeting.Result{}, err
		}
	}
	return t.m.OfferResult(p, true), nil
}

// takeOffer answers with an accept.
func (t *turn) takeOffer(e *Exchange) error {
	accept, err := t.m.Reply(meeting.ActionAccept, t.host.ID, meeting.AcceptPayload{SkillID: e.SkillID}, t.now)
	if err != nil {
		return err
	}
	e.accepting, t.auto = accept.ID, &accept
	return e.become(t.tx, meeting.ExAccepted, t.now)
}

// answersRequest closes our request, if the offer answers one.
func (t *turn) answersRequest() error {
	e, err := pending(t.tx, t.host.ID, t.from.ID, t.m.RepliesTo(), meeting.SideRequesting)
	if errors.Is(err, ErrNotFound) || err == nil && e.State.Final() {
		return nil
	}
	if err != nil {
		return err
	}
	return e.become(t.tx, meeting.ExReceiving, t.now)
}

func (t *turn) newExchange(side meeting.ExchangeSide) Exchange {
	return Exchange{
		me: t.host.ID, Agent: t.host.Name, Peer: t.from.ID, Place: t.place, Side: side, Relayed: !t.from.Direct, Level: t.level, Opening: t.m.ID, opened: "{}",
	}
}

// requested offers what fits, or says that there is nothing.
func (t *turn) requested() (meeting.Result, error) {
	p, err := t.m.ReadRequestSkill()
	if err != nil {
		return t.invalid(err)
	}
	if t.level == L2 {
		n, err := t.count(store.Micros(t.now.Add(-day)), `outgoing = 0 AND action = ?`, meeting.ActionRequestSkill)
		if err != nil {
			return meeting.Result{}, err
		}
		if n >= l2Requests {
			return t.m.InvalidResult(t.host.ID, meeting.CodeRateLimited, "Too many requests today; prove your key for more", t.now)
		}
	}
	found := matching(t.s.public(t.tx, t.host), p)
	infos := make([]meeting.SkillInfo, len(found))
	for i, own := range found {
		infos[i] = own.info(t.s.c.Hashes)
	}
	if !t.from.Direct {
		if err := t.offerBack(found); err != nil {
			return meeting.Result{}, err
		}
	}
	return t.m.RequestResult(p, infos), nil
}

// offerBack answers a relayed request.
func (t *turn) offerBack(found []Own) error {
	if len(found) == 0 {
		m, err := t.m.Reply(meeting.ActionDecline, t.host.ID, meeting.DeclinePayload{Reason: meeting.DeclineNotAvailable}, t.now)
		t.auto = &m
		return err
	}
	e, m, err := t.s.newOffer(t.host, t.place, t.from.ID, found[0], t.now)
	if err != nil {
		return err
	}
	m.InReplyTo, e.Level = &t.m.ID, t.level
	t.auto = &m
	return e.become(t.tx, meeting.ExOffered, t.now)
}

// accepted sends what was offered; a second accept sends it again.
func (t *turn) accepted() (meeting.Result, error) {
	e, err := pending(t.tx, t.host.ID, t.from.ID, t.m.RepliesTo(), meeting.SideOffering)
	if errors.Is(err, ErrNotFound) || err == nil && e.State.Final() {
		return t.m.AcceptResult(nil), nil
	}
	if err != nil {
		return meeting.Result{}, err
	}
	var offer meeting.Message
	if err := mmp.Decode([]byte(e.opened), &offer); err != nil {
		return meeting.Result{}, err
	}
	if e.State == meeting.ExOffered {
		e.accepting, e.Relayed = t.m.ID, !t.from.Direct
		if err := e.become(t.tx, meeting.ExAccepted, t.now); err != nil {
			return meeting.Result{}, err
		}
	}
	if !t.from.Direct {
		m, err := t.s.contentOf(t.host, e, t.m.ID, t.now)
		if err != nil {
			return meeting.Result{}, err
		}
		t.auto = &m
		if e.State == meeting.ExAccepted {
			if err := e.become(t.tx, meeting.ExSent, t.now); err != nil {
				return meeting.Result{}, err
			}
		}
	}
	return t.m.AcceptResult(&offer), nil
}

// declined ends whichever exchange it answers.
func (t *turn) declined() (meeting.Result, error) {
	p, err := t.m.ReadDecline()
	if err != nil {
		return t.invalid(err)
	}
	return t.m.DeclineResult(p), t.end(meeting.ExDeclined, p.Reason)
}

// failed ends an exchange because the other side says that something went wrong.
func (t *turn) failed(p meeting.ErrorPayload) error {
	return t.end(meeting.ExFailed, string(p.ErrorCode))
}

func (t *turn) end(state meeting.ExchangeState, reason string) error {
	for _, side := range []meeting.ExchangeSide{meeting.SideOffering, meeting.SideReceiving, meeting.SideRequesting} {
		e, err := pending(t.tx, t.host.ID, t.from.ID, t.m.RepliesTo(), side)
		if errors.Is(err, ErrNotFound) || err == nil && (e.State.Final() || e.State == meeting.ExQuarantined) {
			continue // what lies in quarantine is for a person to decide
		}
		if err != nil {
			return err
		}
		e.Reason = reason
		if err := e.become(t.tx, state, t.now); err != nil {
			return err
		}
	}
	return nil
}

// reflected closes what we sent.
func (t *turn) reflected() (meeting.Result, error) {
	p, err := t.m.ReadReflect()
	if err != nil {
		return t.invalid(err)
	}
	e, err := scanExchange(t.tx.QueryRow(`SELECT `+exchangeColumns+` FROM skill_exchanges WHERE me = ? AND peer = ? AND side = ? AND (opening = ? OR accepting = ? OR item = ?)
		ORDER BY created_at DESC LIMIT 1`, t.host.ID, t.from.ID, string(meeting.SideOffering), t.m.RepliesTo(), t.m.RepliesTo(), t.m.RepliesTo()))
	switch {
	case errors.Is(err, ErrNotFound) || t.m.RepliesTo() == "":
		return t.m.ReflectResult(p), nil
	case err != nil:
		return meeting.Result{}, err
	case e.State == meeting.ExSent:
		e.Reason = fit.Clip(p.Reflection, mmp.MaxReason)
		if err := e.become(t.tx, meeting.ExClosed, t.now); err != nil {
			return meeting.Result{}, err
		}
	}
	return t.m.ReflectResult(p), nil
}

// content takes a skill in: checked, scanned, quarantined.
func (t *turn) content() (meeting.Result, error) {
	if t.level == L2 && !t.s.c.L2Offers {
		decline, err := t.m.Reply(meeting.ActionDecline, t.host.ID, meeting.DeclinePayload{Reason: meeting.DeclinePolicy}, t.now)
		return meeting.Result{
			Status: meeting.ResultError, Action: t.m.Action, From: t.m.From, Suggested: decline,
			Fields: map[string]any{"error": "Skills of strangers are not taken", "reason": meeting.DeclinePolicy},
		}, err
	}
	p, err := t.m.ReadSkillContent()
	if err != nil {
		return t.invalid(err)
	}
	e, err := pending(t.tx, t.host.ID, t.from.ID, t.m.RepliesTo(), meeting.SideReceiving)
	known := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return meeting.Result{}, err
	}
	if known && e.Item != "" {
		// It came before, under another message id: one skill, one question.
		return t.m.ContentResult(p, map[string]any{"valid": true}, e.Item), nil
	}
	solicited := known && e.State == meeting.ExAccepted
	check := meeting.SkillCheck{
		Format: p.Format, ExtraFormats: t.formats(), Content: p.Content, ContentHash: p.ContentHash, Provenance: p.Provenance,
		Sender: t.from.ID, Me: t.host.ID,
	}
	if known {
		check.OfferedHash = e.Hash
	}
	if check.Full, err = t.full(p); err != nil {
		return meeting.Result{}, err
	}
	provenance, err := meeting.CheckSkill(check)
	if err != nil {
		return t.contentRefused(p, e, solicited, err)
	}
	if !solicited {
		e = t.newExchange(meeting.SideReceiving)
		e.SkillID, e.SkillName, e.Format, e.State = p.SkillID, p.SkillName, p.Format, meeting.ExAccepted
	}
	return t.quarantine(p, &e, provenance, !solicited)
}

// full tells whether this skill must be turned away for lack of room or of a
// person's time, or because a person refused it before.
func (t *turn) full(p meeting.SkillContentPayload) (bool, error) {
	room, err := t.roomFor(len(p.Content))
	if err != nil || !room {
		return true, err
	}
	if refused, err := t.refusedBefore(mmp.HashOf(p.Content).Bare()); err != nil || refused {
		return true, err
	}
	if t.level == L2 {
		return false, nil // nobody is asked; it lies there until somebody looks
	}
	may, err := t.mayAskInbox()
	return !may, err
}

func (t *turn) refusedBefore(hash string) (bool, error) {
	h, err := mmp.ParseHash(hash)
	if err != nil {
		return false, nil //nolint:nilerr // what is no hash was never refused
	}
	var n int
	err = t.tx.QueryRow(`SELECT count(*) FROM skill_refused WHERE me = ? AND hash = ? AND until > ?`, t.host.ID, h.Bare(), store.Micros(t.now)).Scan(&n)
	return n > 0, err
}

// contentRefused tells the sender why, in the words of the protocol.
func (t *turn) contentRefused(p meeting.SkillContentPayload, e Exchange, solicited bool, cause error) (meeting.Result, error) {
	reason, ok := errors.AsType[meeting.SkillReason](cause)
	if !ok {
		return t.invalid(cause)
	}
	if solicited {
		e.Reason = string(reason)
		if err := e.become(t.tx, meeting.ExFailed, t.now); err != nil {
			return meeting.Result{}, err
		}
	}
	var suggested meeting.Message
	var err error
	switch reason {
	case meeting.SkillHashMismatch, meeting.SkillHashMissing:
		suggested, err = t.m.Reply(meeting.ActionError, t.host.ID, meeting.ErrorPayload{ErrorCode: meeting.CodeHashMismatch, Message: reason.Text(), Recoverable: true}, t.now)
	case meeting.SkillFormat:
		suggested, err = t.m.Reply(meeting.ActionDecline, t.host.ID, meeting.DeclinePayload{Reason: meeting.DeclineFormat, SkillID: p.SkillID}, t.now)
	case meeting.SkillCapacity:
		suggested, err = t.m.Reply(meeting.ActionDecline, t.host.ID, meeting.DeclinePayload{Reason: meeting.DeclineCapacity, SkillID: p.SkillID}, t.now)
	default:
		suggested, err = t.m.Reply(meeting.ActionDecline, t.host.ID, meeting.DeclinePayload{Reason: meeting.DeclinePolicy, Message: reason.Text(), SkillID: p.SkillID}, t.now)
	}
	return t.m.ContentRefused(reason, suggested), err
}

// about is what a skill is said to be about: by whoever offered it, or else by its own head.
func about(content string, e Exchange) (summary string, tags []string) {
	summary, tags = e.Summary, e.Tags
	head, _, err := meeting.SplitFrontMatter(content)
	if err != nil {
		return summary, tags
	}
	if summary == "" {
		summary = fit.Clip(head.Text("description"), mmp.MaxSummary)
	}
	if len(tags) == 0 {
		tags, _ = head.List("tags") // what is no list names none
	}
	for i, tag := range tags {
		tags[i] = fit.Clip(tag, mmp.MaxTag)
	}
	return summary, tags[:min(len(tags), mmp.MaxTags)]
}

func (t *turn) quarantine(p meeting.SkillContentPayload, e *Exchange, provenance meeting.Provenance, unsolicited bool) (meeting.Result, error) {
	hash := mmp.HashOf(p.Content)
	item := Item{
		ID: ids.New(), me: t.host.ID, Agent: t.host.Name, Title: firstText(p.SkillName, p.SkillID, "skill"), Sender: t.from.ID, Place: t.place,
		KeyID: t.from.KeyID, Level: t.level, Format: p.Format, Hash: hash.Bare(), Content: p.Content, Provenance: provenance,
		Verified: provenance.VerifiedHops(hash, func(id string) *mmp.PublicKey { return t.keys[id] }), Findings: t.s.scanner.Scan(p.Content),
		State: StateQuarantined, Unsolicited: unsolicited, Received: t.now, message: t.m.ID,
	}
	item.Summary, item.Tags = about(p.Content, *e)
	item.Approval = item.ID
	e.Item = item.ID
	for _, state := range []meeting.ExchangeState{meeting.ExChecked, meeting.ExQuarantined} {
		if err := e.become(t.tx, state, t.now); err != nil {
			return meeting.Result{}, err
		}
	}
	item.Exchange = e.ID
	if err := item.insert(t.tx); err != nil {
		return meeting.Result{}, err
	}
	if t.level != L2 {
		t.note, t.items = "asked", append(t.items, item.ID)
	}
	validation := map[string]any{"valid": true, "findings": len(item.Findings), "hop_count": provenance.HopCount, "unsolicited": unsolicited}
	return t.m.ContentResult(p, validation, item.ID), t.s.d.Trail.AppendTx(t.tx, audit.Entry{
		Actor: "agent:" + t.host.Name, Action: audit.SkillQuarantined, Target: item.ID, Digest: hash.Bare(),
		Detail: map[string]any{"sender": t.from.ID, "level": string(t.level), "findings": len(item.Findings)},
	})
}
