package skill

import (
	"context"
	"database/sql"
	"errors"

	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

var exchangePolicy = mmp.Raw(`{"allowed_formats":["markdown"],"require_approval":true}`)

// introduction is an agent's own, signed afresh.
func (s *Skills) introduction(h Host, loaded meeting.Loaded, public []Own) (meeting.Introduction, meeting.Message, error) {
	var none meeting.Introduction
	static, err := mmp.SignIntroduction(h.Ring.RSA, mmp.Identity{Description: h.Description, InstanceID: h.ID, Name: h.Name, Scope: "general", Version: s.c.Version})
	if err != nil {
		return none, meeting.Message{}, err
	}
	entry, err := mmp.SignEntry(h.Ring.RSA, h.ID, h.Ring.HPKE, s.now())
	if err != nil {
		return none, meeting.Message{}, err
	}
	extensions := extensionNames(loaded)
	in := meeting.Introduction{
		Identity: static.Identity,
		Capabilities: meeting.Capabilities{
			MeetingProtocolVersion: mmp.ProtocolVersion, SupportedActions: actionsOf(loaded), SkillFormats: []string{meeting.FormatMarkdown}, Extensions: extensions,
		},
		Skills: s.infos(public),
		Constraints: meeting.Constraints{
			MaxSkillSizeBytes: mmp.MaxSkill, RateLimitPerMinute: 120, AllowedFormats: []string{meeting.FormatMarkdown}, RequireApproval: true,
		},
		ExchangePolicy: exchangePolicy, Extensions: extensions, ExchangeableSkillsets: []string{}, PublicKey: h.Ring.RSA.Public().PEM(),
		KeyFingerprint: h.Ring.RSA.Public().KeyFingerprint(), IdentitySignature: static.Signature, Entry: &entry.Entry, EntrySignature: &entry.Signature,
	}
	m, err := meeting.NewMessage(meeting.ActionIntroduce, h.ID, "", in, s.now())
	return in, m, err
}

func (s *Skills) infos(public []Own) []meeting.SkillInfo {
	out := make([]meeting.SkillInfo, len(public))
	for i, o := range public {
		out[i] = o.info(s.c.Hashes)
	}
	return out
}

// Introduction is an agent's own, and the message that carries it.
func (s *Skills) Introduction(ctx context.Context, agent string) (in meeting.Introduction, m meeting.Message, err error) {
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

// Encounter shows whoever called an agent at its address that it holds its key.
func (s *Skills) Encounter(_ context.Context, agent string, e mmp.Encounter) (*mmp.Proof, error) {
	h, err := s.host(agent)
	if err != nil || !e.Sound() {
		return nil, err
	}
	proof, err := e.Sign(h.Ring.RSA)
	return &proof, err
}

// Actions lists what an agent answers to, by its id.
func (s *Skills) Actions(ctx context.Context, id string) (out []string, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		loaded, err := s.loaded(tx, id)
		if err == nil {
			out = actionsOf(loaded)
		}
		return err
	})
	return out, err
}

// Skills lists what is public.
func (s *Skills) Skills(ctx context.Context, agent string) (out meeting.SkillsAnswer, err error) {
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
func (s *Skills) Skill(ctx context.Context, agent, ref string) (meeting.SkillDetails, error) {
	own, _, err := s.shown(ctx, agent, ref)
	if err != nil {
		return meeting.SkillDetails{}, err
	}
	i := own.info(s.c.Hashes)
	return meeting.SkillDetails{Metadata: meeting.SkillMetadata{
		ID: i.ID, Name: i.Name, Layer: i.Layer, Format: i.Format, Summary: i.Summary, ContentHash: i.ContentHash, Available: true,
	}}, nil
}

// maxPreviewLines is what a direct preview shows at most.
const maxPreviewLines = 20

// PreviewSkill gives the first lines of one.
func (s *Skills) PreviewSkill(ctx context.Context, agent, ref string, n int) (board.Deposit, error) {
	own, h, err := s.shown(ctx, agent, ref)
	if err != nil {
		return board.Deposit{}, err
	}
	i := own.info(s.c.Hashes)
	out := board.Deposit{
		SkillID: i.ID, Name: i.Name, Description: i.Summary, Tags: i.Tags, Format: i.Format, SizeBytes: len(own.Content),
		ContentSizeLines: meeting.CountLines(own.Content), DepositorID: h.ID, ContentHash: i.ContentHash, Summary: &i.Summary, Sections: meeting.Sections(own.Content),
	}
	first := meeting.FirstLines(own.Content, min(max(n, 1), maxPreviewLines))
	out.FirstLines = &first
	return out, nil
}

// Package makes a public skill ready to travel, and moves the exchange it belongs to.
func (s *Skills) Package(ctx context.Context, agent string, from place.Sender, ref meeting.SkillRef) (out meeting.PackagedAnswer, err error) {
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
		if known, err := pending(tx, h.ID, to, ref.InReplyTo, meeting.SideOffering); err == nil {
			e = known
			if e.State == meeting.ExAccepted {
				if err := e.become(tx, meeting.ExSent, s.now()); err != nil {
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
		out.PackagedSkill = meeting.PackagedSkill{Name: p.SkillName, Format: p.Format, Content: p.Content, ContentHash: p.ContentHash, Provenance: p.Provenance}
		return err
	})
	return out, err
}

// Make makes a message in the agent's name without sending it.
func (s *Skills) Make(ctx context.Context, agent, action string, body []byte) (meeting.MadeAnswer, error) {
	h, err := s.host(agent)
	if err != nil {
		return meeting.MadeAnswer{}, err
	}
	switch action {
	case meeting.ActionOfferSkill:
		return s.makeOffer(ctx, h, body)
	case meeting.ActionRequestSkill:
		return s.makeRequest(ctx, h, body)
	}
	r, err := meeting.DecodeReply(body)
	if err != nil {
		return meeting.MadeAnswer{}, err
	}
	var payload any = meeting.AcceptPayload{Message: r.Text}
	switch action {
	case meeting.ActionDecline:
		payload = meeting.DeclinePayload{Reason: firstText(r.Reason, meeting.DeclineUser), Message: r.Text}
	case meeting.ActionReflect:
		payload = meeting.ReflectPayload{Reflection: r.Text}
	}
	m, err := meeting.NewMessage(action, h.ID, r.To, payload, s.now())
	m.InReplyTo = &r.InReplyTo
	return meeting.MadeAnswer{Message: m}, err
}

func (s *Skills) makeOffer(ctx context.Context, h Host, body []byte) (out meeting.MadeAnswer, err error) {
	ref, err := meeting.DecodeSkillRef(body, true)
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
		return e.become(tx, meeting.ExOffered, s.now())
	})
	return out, err
}

func (s *Skills) makeRequest(ctx context.Context, h Host, body []byte) (out meeting.MadeAnswer, err error) {
	ref, err := meeting.DecodeSkillRef(body, true)
	if err != nil {
		return out, err
	}
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		e, m, err := s.newRequest(h, "", ref.To, meeting.RequestSkillPayload{SkillID: ref.SkillID}, s.now())
		if err != nil {
			return err
		}
		out.Message, e.Relayed = m, false
		return e.become(tx, meeting.ExRequested, s.now())
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
func (s *Skills) History(ctx context.Context, agent string, q meeting.HistoryQuery) (meeting.HistoryAnswer, error) {
	h, err := s.host(agent)
	if err != nil {
		return meeting.HistoryAnswer{}, err
	}
	out := meeting.HistoryAnswer{}
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
