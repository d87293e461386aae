package mmpagent

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// Direct is another agent, reached without a place.
type Direct struct {
	agent *Agent
	base  string
	// named is the agent that is meant, where several answer at one address.
	named string

	mu   sync.Mutex
	said *meeting.Introduction // as we introduced ourselves
}

// Met is an agent that answered at an address, in its own words.
type Met struct {
	*meeting.PeerIntroduction
	// Key is the one it shows; nil without any. Proven says that it showed, just now and
	// to this agent, that it holds it.
	Key    *mmp.PublicKey
	Proven bool
}

// KeyID names the key, if there is one.
func (m Met) KeyID() string {
	if m.Key == nil {
		return ""
	}
	return m.Key.KeyID()
}

// Direct prepares to talk to the agent at an address such as https://host, or
// https://host?agent=name where several answer. The session of this agent is used when
// the address is the place's own.
func (a *Agent) Direct(address string) (*Direct, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%q is not the address of an agent", address)
	}
	named := u.Query().Get("agent")
	u.RawQuery, u.Fragment = "", ""
	base, err := baseURL(strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/meeting/v1"), a.opts.Insecure)
	if err != nil {
		return nil, err
	}
	d := &Direct{agent: a, base: base + "/meeting/v1", named: named}
	if base != a.base {
		d.agent = &Agent{opts: a.opts, base: base, called: calledAt(base), http: a.http, id: a.ID()}
	}
	return d, nil
}

// OpenDirect prepares to talk to an agent without being at any place.
func OpenDirect(address string, opts Options) (*Direct, error) {
	bare, _, _ := strings.Cut(address, "?")
	a, err := Open(strings.TrimSuffix(strings.TrimRight(bare, "/"), "/meeting/v1"), opts)
	if err != nil {
		return nil, err
	}
	return a.Direct(address)
}

// Address is the agent's, in the one way it is written.
func (d *Direct) Address() string {
	if d.named == "" {
		return d.base
	}
	return d.base + "?" + url.Values{"agent": {d.named}}.Encode()
}

// Close gives connections back.
func (d *Direct) Close() error { return d.agent.Close() }

func (d *Direct) fetch(ctx context.Context, r request, into any) error {
	if d.named != "" {
		if r.query == nil {
			r.query = url.Values{}
		}
		r.query.Set("agent", d.named)
	}
	return d.agent.fetch(ctx, d.base, r, into)
}

// Look asks the other agent who it is, and lets it show that it holds its key. What it
// says must fit together; whether it is who was meant is for the caller to know.
func (d *Direct) Look(ctx context.Context) (Met, error) {
	e := mmp.Encounter{Address: d.agent.called, Caller: d.agent.ID(), Nonce: mmp.NewNonce()}
	var body mmp.Raw
	if err := d.fetch(ctx, request{method: http.MethodGet, path: "/introduce", query: url.Values{"nonce": {e.Nonce}, "agent_id": {e.Caller}}, bare: true}, &body); err != nil {
		return Met{}, err
	}
	in, err := meeting.ReadIntroduction(body)
	if err != nil {
		return Met{}, err
	}
	if in.ID() == "" {
		return Met{}, fmt.Errorf("who answers at %s does not say who it is: %w", d.base, mmp.ErrInvalidID)
	}
	m := Met{PeerIntroduction: in}
	if in.PublicKey == "" {
		return m, nil
	}
	if m.Key, err = mmp.ParsePublicKey(in.PublicKey); err != nil {
		return Met{}, err
	}
	if !mmp.MayHave(in.ID(), m.Key) {
		return Met{}, fmt.Errorf("%s is another key's id: %w", in.ID(), mmp.ErrBadSignature)
	}
	if err := mmp.VerifyIdentity(m.Key, in.Static); err != nil {
		return Met{}, fmt.Errorf("the introduction of %s: %w", in.ID(), err)
	}
	m.Proven = in.Proof != nil && e.Verify(m.Key, *in.Proof) == nil
	return m, nil
}

// Introduce tells the other agent who we are, with the best proof it takes, and keeps
// the session it gives.
func (d *Direct) Introduce(ctx context.Context, in meeting.Introduction) (out meeting.IntroducedAnswer, err error) {
	d.mu.Lock()
	d.said = &in
	d.mu.Unlock()
	if err := d.prove(ctx, &in); err != nil {
		return out, err
	}
	m, err := meeting.NewMessage(meeting.ActionIntroduce, d.agent.ID(), "", in, d.agent.opts.Now())
	if err != nil {
		return out, err
	}
	if d.agent.offers(ctx, board.FeatureWebSocket) {
		_ = d.agent.connect(ctx, d.base) // else by HTTP, as it always can be
	}
	err = d.fetch(ctx, request{method: http.MethodPost, path: "/introduce", body: m}, &out)
	if err == nil && out.SessionToken != "" {
		d.agent.mu.Lock()
		d.agent.token = out.SessionToken
		d.agent.mu.Unlock()
	}
	return out, err
}

// prove answers the challenge of a place that makes one; elsewhere the identity is
// signed for this address alone.
func (d *Direct) prove(ctx context.Context, in *meeting.Introduction) error {
	a := d.agent
	key := a.ring().RSA
	if key == nil || a.Token() != "" {
		return nil
	}
	if a.offers(ctx, board.FeatureChallenge) {
		proof, err := a.challenge(ctx, a.ID())
		in.Proof = proof
		return err
	}
	static, err := mmp.SignIdentity(key, mmp.Identity{
		Description: a.opts.Description, InstanceID: a.ID(), Name: a.opts.Name, Scope: orElse(a.opts.Scope, "general"), Version: a.opts.Version, RegistersAt: a.called,
	})
	in.PublicKey, in.Identity, in.IdentitySignature = key.Public().PEM(), static.Identity, static.Signature
	return err
}

// call makes a request; a session that ended is begun again once.
func (d *Direct) call(ctx context.Context, r request, into any) error {
	err := d.fetch(ctx, r, into)
	d.mu.Lock()
	said := d.said
	d.mu.Unlock()
	if !errNoSession(err) || said == nil {
		return err
	}
	d.agent.mu.Lock()
	d.agent.token = ""
	d.agent.mu.Unlock()
	if _, err := d.Introduce(ctx, *said); err != nil {
		return err
	}
	return d.fetch(ctx, r, into)
}

// Say sends a message; the answer is the other agent's processing result.
func (d *Direct) Say(ctx context.Context, m meeting.Message) (out mmp.Raw, err error) {
	err = d.call(ctx, request{method: http.MethodPost, path: "/message", body: m}, &out)
	return out, err
}

// Content asks for a skill, in answer to the message that accepted it. The answer is
// as the other agent sent it; see [meeting.Message.HeardContent].
func (d *Direct) Content(ctx context.Context, accept meeting.Message, skillID string) (out mmp.Raw, err error) {
	err = d.call(ctx, request{method: http.MethodPost, path: "/skill_content", body: map[string]string{
		"skill_id": skillID, "to": accept.From, "in_reply_to": accept.ID,
	}}, &out)
	return out, err
}

// Refused tells that the other side answered, and said no: asking again changes nothing.
func Refused(err error) bool {
	e, answered := err.(*Error) //nolint:errorlint // calls return it bare
	return answered && e.Status < 500 && e.Status != http.StatusTooManyRequests && e.Status != http.StatusUnauthorized
}

// Goodbye ends the session, if there is one.
func (d *Direct) Goodbye(ctx context.Context) error {
	if d.agent.Token() == "" {
		return nil
	}
	return d.fetch(ctx, request{method: http.MethodPost, path: "/goodbye", body: map[string]string{}}, nil)
}
