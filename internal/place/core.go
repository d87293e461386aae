package place

import (
	"context"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// Core speaks for one agent that knows the core actions and nothing else. It is
// what the direct endpoints fall back to when nobody hosts agents here.
type Core struct {
	// Ring is asked for when it is first needed: making keys takes a while.
	Ring        func() (mmp.Keyring, error)
	Name        string
	Description string
	Version     string
	Now         func() time.Time
}

var _ Meeting = (*Core)(nil)

// mine gives the keys if the agent that is asked for is this one.
func (c *Core) mine(agent string) (mmp.Keyring, string, error) {
	ring, err := c.Ring()
	if err != nil {
		return ring, "", err
	}
	id := ring.RSA.Public().InstanceID()
	if agent != "" && agent != c.Name && agent != id {
		err = mmp.ErrAgentNotFound
	}
	return ring, id, err
}

func (c *Core) known(agent string) error {
	_, _, err := c.mine(agent)
	return err
}

// Encounter shows whoever called that the agent holds its key.
func (c *Core) Encounter(_ context.Context, agent string, e mmp.Encounter) (*mmp.Proof, error) {
	ring, _, err := c.mine(agent)
	if err != nil || !e.Sound() {
		return nil, err
	}
	proof, err := e.Sign(ring.RSA)
	return &proof, err
}

// Introduction is signed afresh each time, so that its entry is.
func (c *Core) Introduction(_ context.Context, agent string) (meeting.Introduction, meeting.Message, error) {
	var none meeting.Introduction
	ring, id, err := c.mine(agent)
	if err != nil {
		return none, meeting.Message{}, err
	}
	static, err := mmp.SignIntroduction(ring.RSA, mmp.Identity{Description: c.Description, InstanceID: id, Name: c.Name, Scope: "general", Version: c.Version})
	if err != nil {
		return none, meeting.Message{}, err
	}
	entry, err := mmp.SignEntry(ring.RSA, id, ring.HPKE, c.Now())
	if err != nil {
		return none, meeting.Message{}, err
	}
	in := meeting.Introduction{
		Identity: static.Identity,
		Capabilities: meeting.Capabilities{
			MeetingProtocolVersion: mmp.ProtocolVersion, SupportedActions: meeting.CoreActions(), SkillFormats: []string{meeting.FormatMarkdown},
			Extensions: []string{meeting.ExtensionCore},
		},
		Skills: []meeting.SkillInfo{},
		Constraints: meeting.Constraints{
			MaxSkillSizeBytes: mmp.MaxSkill, RateLimitPerMinute: 120, AllowedFormats: []string{meeting.FormatMarkdown}, RequireApproval: true,
		},
		ExchangePolicy: mmp.Raw(`{"allowed_formats":["markdown"],"require_approval":true}`), Extensions: []string{meeting.ExtensionCore},
		ExchangeableSkillsets: []string{}, PublicKey: ring.RSA.Public().PEM(), KeyFingerprint: ring.RSA.Public().KeyFingerprint(),
		IdentitySignature: static.Signature, Entry: &entry.Entry, EntrySignature: &entry.Signature,
	}
	m, err := meeting.NewMessage(meeting.ActionIntroduce, id, "", in, c.Now())
	return in, m, err
}

// Handle answers the core actions; everything else is unsupported.
func (c *Core) Handle(ctx context.Context, agent string, _ Sender, m meeting.Message) (meeting.Result, error) {
	in, reply, err := c.Introduction(ctx, agent)
	if err != nil {
		return meeting.Result{}, err
	}
	switch m.Action {
	case meeting.ActionIntroduce:
		peer, err := meeting.ReadIntroduction(m.Payload)
		if err != nil {
			return m.InvalidResult(reply.From, meeting.CodeInvalidPayload, err.Error(), c.Now())
		}
		if !meeting.SameMajor(m.ProtocolVersion) {
			return m.InvalidResult(reply.From, meeting.CodeVersionMismatch, "Protocol version "+m.ProtocolVersion+" is not supported", c.Now())
		}
		reply.To, reply.InReplyTo = &m.From, &m.ID
		return m.IntroduceResult(peer, in.Extensions, reply), nil
	case meeting.ActionGoodbye:
		var p meeting.GoodbyePayload
		if mmp.Decode(m.Payload, &p) != nil {
			return m.InvalidResult(reply.From, meeting.CodeInvalidPayload, "Invalid payload", c.Now())
		}
		return m.GoodbyeResult(p), nil
	case meeting.ActionError:
		var p meeting.ErrorPayload
		_ = mmp.Decode(m.Payload, &p) // whatever it says, an error is not answered
		return m.ErrorResult(p), nil
	}
	return m.UnsupportedResult(reply.From, meeting.CoreActions(), c.Now())
}

// Skills lists none.
func (c *Core) Skills(_ context.Context, agent string) (meeting.SkillsAnswer, error) {
	return meeting.SkillsAnswer{Skills: []meeting.SkillInfo{}, ExchangePolicy: mmp.Raw(`{"allowed_formats":["markdown"],"require_approval":true}`)}, c.known(agent)
}

// Skill finds none.
func (c *Core) Skill(context.Context, string, string) (meeting.SkillDetails, error) {
	return meeting.SkillDetails{}, mmp.ErrSkillNotFound
}

// PreviewSkill finds none.
func (c *Core) PreviewSkill(context.Context, string, string, int) (board.Deposit, error) {
	return board.Deposit{}, mmp.ErrSkillNotFound
}

// Package finds none.
func (c *Core) Package(context.Context, string, Sender, meeting.SkillRef) (meeting.PackagedAnswer, error) {
	return meeting.PackagedAnswer{}, mmp.ErrSkillNotFound
}

// Make makes nothing: a core agent has no skills to speak of.
func (c *Core) Make(_ context.Context, _, _ string, body []byte) (meeting.MadeAnswer, error) {
	ref, err := meeting.DecodeSkillRef(body, false)
	if err != nil {
		return meeting.MadeAnswer{}, err
	}
	return meeting.MadeAnswer{}, mmp.SkillNotFound(ref.SkillID)
}

// History is empty.
func (c *Core) History(_ context.Context, agent string, _ meeting.HistoryQuery) (meeting.HistoryAnswer, error) {
	return meeting.HistoryAnswer{Interactions: []any{}, Summary: map[string]any{"total": 0}}, c.known(agent)
}
