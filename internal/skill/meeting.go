package skill

import (
	"context"
	"database/sql"
	"errors"

	"parley/internal/place"
	"parley/internal/store"
	"parley/protocol/mmp"
)

var exchangePolicy = mmp.Raw(`{"allowed_formats":["markdown"],"require_approval":true}`)

// introduction is an agent's own, signed afresh.
func (s *Skills) introduction(h Host, loaded mmp.Loaded, public []Own) (mmp.Introduction, mmp.Message, error) {
	var none mmp.Introduction
	static, err := mmp.SignIntroduction(h.Ring.RSA, mmp.Identity{Description: h.Description, InstanceID: h.ID, Name: h.Name, Scope: "general", Version: s.c.Version})
	if err != nil {
		return none, mmp.Message{}, err
	}
	entry, err := mmp.SignEntry(h.Ring.RSA, h.ID, h.Ring.HPKE, s.now())
	if err != nil {
		return none, mmp.Message{}, err
	}
	extensions := extensionNames(loaded)
	in := mmp.Introduction{
		Identity: static.Identity,
		Capabilities: mmp.Capabilities{
			MeetingProtocolVersion: mmp.ProtocolVersion, SupportedActions: actionsOf(loaded), SkillFormats: []string{mmp.FormatMarkdown}, Extensions: extensions,
		},
		Skills: s.infos(public),
		Constraints: mmp.Constraints{
			MaxSkillSizeBytes: mmp.MaxSkill, RateLimitPerMinute: 120, AllowedFormats: []string{mmp.FormatMarkdown}, RequireApproval: true,
		},
		ExchangePolicy: exchangePolicy, Extensions: extensions, ExchangeableSkillsets: []string{}, PublicKey: h.Ring.RSA.Public().PEM(),
		KeyFingerprint: h.Ring.RSA.Public().KeyFingerprint(), IdentitySignature: static.Signature, Entry: &entry.Entry, EntrySignature: &entry.Signature,
	}
	m, err := mmp.NewMessage(mmp.ActionIntroduce, h.ID, "", in, s.now())
	return in, m, err
}

func (s *Skills) infos(public []Own) []mmp.SkillInfo {
	out := make([]mmp.SkillInfo, len(public))
	for i, o := range public {
		out[i] = o.info(s.c.Hashes)
	}
	return out
}

// Introduction is an agent's own, and the message that carries it.
func (s *Skills) Introduction(ctx context.Context, agent string) (in mmp.Introduction, m mmp.Message, err error) {
	h, err := s.host(agent)
	if err != nil {
		return in, m, err
	}
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		loaded, err := s.loaded(tx, h.ID)
		if err != nil {
			return err
		}
		in, m, err = s.introduction(h, loaded, s.public(tx, h))
		return err
	})
	return in, m, err
}

// Skills lists what is public.
func (s *Skills) Skills(ctx context.Context, agent string) (out mmp.SkillsAnswer, err error) {
	h, err := s.host(agent)
	if err != nil {
		return out, err
	}
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		out.Skills = s.infos(s.public(tx, h))
		return nil
	})
	out.Count, out.ExchangePolicy = len(out.Skills), exchangePolicy
	return out, err
}

// shown finds a public skill for a stranger: what is not public does not exist.
func (s *Skills) shown(ctx context.Context, agent, ref string) (own Own, h Host, err error) {
	if h, err = s.host(agent); err != nil {
		return own, h, err
	}
	err = s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		own, err = s.find(tx, h, ref)
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrNotPublic):
		err = mmp.ErrSkillNotFound
	}
	return own, h, err
}

// Skill describes one.
func (s *Skills) Skill(ctx context.Context, agent, ref string) (mmp.SkillDetails, error) {
	own, _, err := s.shown(ctx, agent, ref)
	if err != nil {
		return mmp.SkillDetails{}, err
	}
	i := own.info(s.c.Hashes)
	return mmp.SkillDetails{Metadata: mmp.SkillMetadata{
		ID: i.ID, Name: i.Name, Layer: i.Layer, Format: i.Format, Summary: i.Summary, ContentHash: i.ContentHash, Available: true,
	}}, nil
}

// maxPreviewLines is what a direct preview shows at most.
const maxPreviewLines = 20

// PreviewSkill gives the first lines of one.
func (s *Skills) PreviewSkill(ctx context.Context, agent, ref string, n int) (mmp.Deposit, error) {
	own, h, err := s.shown(ctx, agent, ref)
	if err != nil {
		return mmp.Deposit{}, err
	}
	i := own.info(s.c.Hashes)
	out := mmp.Deposit{
		SkillID: i.ID, Name: i.Name, Description: i.Summary, Tags: i.Tags, Format: i.Format, SizeBytes: len(own.Content),
		ContentSizeLines: mmp.CountLines(own.Content), DepositorID: h.ID, ContentHash: i.ContentHash, Summary: &i.Summary, Sections: mmp.Sections(own.Content),
	}
	first := mmp.FirstLines(own.Content, min(max(n, 1), maxPreviewLines))
	out.FirstLines = &first
	return out, nil
}

// Package makes a public skill ready to travel, and moves the exchange it belongs to.
func (s *Skills) Package(ctx context.Context, agent string, from place.Sender, ref mmp.SkillRef) (out mmp.PackagedAnswer, err error) {
	h, err := s.host(agent)
	if err != nil {
		return out, err
	}
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		own, err := s.find(tx, h, ref.SkillID)
		switch {
		case errors.Is(err, ErrNotPublic):
			return mmp.ErrNotExchangeable
		case errors.Is(err, ErrNotFound):
			return mmp.ErrSkillNotFound
		case err != nil:
			return err
		}
		to := firstText(from.ID, ref.To)
		e, _, err := s.newOffer(h, "", to, own, s.now())
		if err != nil {
			return err
		}
		if known, err := pending(tx, h.ID, to, ref.InReplyTo, mmp.SideOffering); err == nil {
			e = known
			if e.State == mmp.ExAccepted {
				if err := e.become(tx, mmp.ExSent, s.now()); err != nil {
					return err
				}
			}
		}
		m, err := s.contentOf(h, e, ref.InReplyTo, s.now())
		if err != nil {
			return err
		}
		p, err := m.ReadSkillContent()
		out.Message = m
		out.PackagedSkill = mmp.PackagedSkill{Name: p.SkillName, Format: p.Format, Content: p.Content, ContentHash: p.ContentHash, Provenance: p.Provenance}
		return err
	})
	return out, err
}

// Make makes a message in the agent's name without sending it.
func (s *Skills) Make(ctx context.Context, agent, action string, body []byte) (mmp.MadeAnswer, error) {
	h, err := s.host(agent)
	if err != nil {
		return mmp.MadeAnswer{}, err
	}
	switch action {
	case mmp.ActionOfferSkill:
		return s.makeOffer(ctx, h, body)
	case mmp.ActionRequestSkill:
		return s.makeRequest(ctx, h, body)
	}
	r, err := mmp.DecodeReply(body)
	if err != nil {
		return mmp.MadeAnswer{}, err
	}
	var payload any = mmp.AcceptPayload{Message: r.Text}
	switch action {
	case mmp.ActionDecline:
		payload = mmp.DeclinePayload{Reason: firstText(r.Reason, mmp.DeclineUser), Message: r.Text}
	case mmp.ActionReflect:
		payload = mmp.ReflectPayload{Reflection: r.Text}
	}
	m, err := mmp.NewMessage(action, h.ID, r.To, payload, s.now())
	m.InReplyTo = &r.InReplyTo
	return mmp.MadeAnswer{Message: m}, err
}

func (s *Skills) makeOffer(ctx context.Context, h Host, body []byte) (out mmp.MadeAnswer, err error) {
	ref, err := mmp.DecodeSkillRef(body, true)
	if err != nil {
		return out, err
	}
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		own, err := s.find(tx, h, ref.SkillID)
		switch {
		case errors.Is(err, ErrNotPublic):
			return mmp.SkillNotPublic(ref.SkillID)
		case errors.Is(err, ErrNotFound):
			return mmp.SkillNotFound(ref.SkillID)
		case err != nil:
			return err
		}
		e, m, err := s.newOffer(h, "", ref.To, own, s.now())
		if err != nil {
			return err
		}
		out.Message, e.Relayed = m, false
		return e.become(tx, mmp.ExOffered, s.now())
	})
	return out, err
}

func (s *Skills) makeRequest(ctx context.Context, h Host, body []byte) (out mmp.MadeAnswer, err error) {
	ref, err := mmp.DecodeSkillRef(body, true)
	if err != nil {
		return out, err
	}
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		e, m, err := s.newRequest(h, "", ref.To, mmp.RequestSkillPayload{SkillID: ref.SkillID}, s.now())
		if err != nil {
			return err
		}
		out.Message, e.Relayed = m, false
		return e.become(tx, mmp.ExRequested, s.now())
	})
	return out, err
}

// Interaction is one message in the history, without its content.
type Interaction struct {
	ID       string `json:"id"`
	Peer     string `json:"peer_id"`
	Action   string `json:"action"`
	Outgoing bool   `json:"outgoing"`
	Level    string `json:"level,omitempty"`
	At       string `json:"timestamp"`
}

// History looks back, newest first.
func (s *Skills) History(ctx context.Context, agent string, q mmp.HistoryQuery) (mmp.HistoryAnswer, error) {
	h, err := s.host(agent)
	if err != nil {
		return mmp.HistoryAnswer{}, err
	}
	out := mmp.HistoryAnswer{}
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		out.Interactions = []any{}
		return tx.Each(func(row *sql.Rows) error {
			var i Interaction
			var outgoing, at int64
			err := row.Scan(&i.ID, &i.Peer, &i.Action, &outgoing, &i.Level, &at)
			i.Outgoing, i.At = outgoing == 1, mmp.Stamp(store.Time(at))
			out.Interactions = append(out.Interactions, i)
			return err
		}, `SELECT id, peer, action, outgoing, level, at FROM skill_messages WHERE me = ? AND (? = '' OR peer = ?) ORDER BY at DESC, id LIMIT ?`,
			h.ID, q.PeerID, q.PeerID, q.Limit)
	})
	out.Summary = map[string]any{"total": len(out.Interactions)}
	return out, err
}
