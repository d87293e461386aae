package mmpagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// leaveTime is how long a place may take to let an agent go that was hardly there.
const leaveTime = 5 * time.Second

// Options say who an agent is. Only Name is worth giving always.
type Options struct {
	// ID is the agent's id at the place; empty takes the one its key gives, or lets
	// the place make one.
	ID           string
	Name         string
	Description  string
	Scope        string
	Capabilities any // a list of actions, or an object
	Endpoint     string
	Metadata     any
	// Version is the agent's own.
	Version string
	Keys    Keys
	// Peers holds pins; nil remembers until the program ends.
	Peers *Peers
	// HTTP is how the place is reached; nil is an ordinary client.
	HTTP *http.Client
	// Token is a session token from before; Register gets a new one.
	Token string
	// AllowDowngrade seals envelope 1 for somebody who once read envelope 2.
	AllowDowngrade bool
	// Insecure allows plain HTTP to other machines.
	Insecure bool
	// Admit is asked before each registration whether this is the place that was
	// meant; its error ends the attempt. Nil admits every place.
	Admit func(ctx context.Context, info board.Info) error
	// NoSocket keeps Run and Direct from opening a WebSocket where there is one.
	NoSocket bool
	// PollEvery is how often a place without long polls is asked (5 s).
	PollEvery time.Duration
	Now       func() time.Time
}

// Agent is one agent at one place. Its methods may be called at the same time.
type Agent struct {
	opts Options
	base string
	// called is the address of the place as both sides of a proof write it.
	called string
	http   *http.Client

	mu      sync.Mutex
	id      string
	token   string
	entered bool
	info    *board.Info
	// proven is the key the place has shown to hold, at the address that was called.
	proven string
	socket *socket
}

// Open prepares an agent; nothing is sent yet.
func Open(place string, opts Options) (*Agent, error) {
	base, err := baseURL(place, opts.Insecure)
	if err != nil {
		return nil, err
	}
	if opts.Peers == nil {
		opts.Peers = &Peers{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.PollEvery <= 0 {
		opts.PollEvery = 5 * time.Second
	}
	a := &Agent{opts: opts, base: base, called: calledAt(base), http: opts.HTTP, id: opts.ID, token: opts.Token}
	if a.http == nil {
		a.http = &http.Client{}
	}
	if a.id == "" {
		a.id = opts.Keys.ID()
	}
	if a.id != "" && !mmp.ValidID(a.id) {
		return nil, mmp.ErrInvalidID
	}
	return a, nil
}

// baseURL refuses plain HTTP to other machines.
func baseURL(place string, insecure bool) (string, error) {
	u, err := url.Parse(strings.TrimRight(place, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not the address of a place", place)
	}
	if u.Scheme == "http" && !insecure {
		ip := net.ParseIP(u.Hostname())
		if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return "", ErrInsecure
		}
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/place/v1"), nil
}

func calledAt(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return mmp.CalledAt(u.Host)
}

// ID is the agent's id; empty before the first Register if the place makes it.
func (a *Agent) ID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// ring is the agent's keys of now; Rotate changes them.
func (a *Agent) ring() mmp.Keyring {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.opts.Keys.Ring
}

// Token is the present session token; empty without one.
func (a *Agent) Token() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.token
}

// Info asks what the place is, once.
func (a *Agent) Info(ctx context.Context) (board.Info, error) {
	a.mu.Lock()
	known := a.info
	a.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	return a.Look(ctx)
}

// Look asks what the place is now.
func (a *Agent) Look(ctx context.Context) (board.Info, error) {
	var info board.Info
	if err := a.call(ctx, request{method: "GET", path: "/info", bare: true}, &info); err != nil {
		return info, err
	}
	a.mu.Lock()
	a.info = &info
	a.mu.Unlock()
	return info, nil
}

// offers tells whether the place lists a feature; one that says nothing has none.
func (a *Agent) offers(ctx context.Context, feature string) bool {
	info, err := a.Info(ctx)
	return err == nil && slices.Contains(info.Features, feature)
}

// placeName is what pins belong to: the key that the place has proven, or else its
// address. What a place only says of itself is not who it is.
func (a *Agent) placeName(context.Context) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if key, err := mmp.ParsePeerKey(a.proven); err == nil {
		return mmp.PlaceIDOf(key)
	}
	return a.base
}

// registration is the register request.
type registration struct {
	ID                string     `json:"id,omitzero"`
	Name              string     `json:"name,omitzero"`
	Description       string     `json:"description,omitzero"`
	Scope             string     `json:"scope,omitzero"`
	Capabilities      any        `json:"capabilities,omitzero"`
	Endpoint          string     `json:"endpoint,omitzero"`
	Metadata          any        `json:"metadata,omitzero"`
	PublicKey         string     `json:"public_key,omitzero"`
	Identity          mmp.Raw    `json:"identity,omitzero"`
	IdentitySignature string     `json:"identity_signature,omitzero"`
	Proof             *mmp.Proof `json:"proof,omitzero"`
}

// Register enters the place, with the best proof it takes, and publishes the key.
func (a *Agent) Register(ctx context.Context) (board.RegisterAnswer, error) {
	var out board.RegisterAnswer
	if err := a.admitted(ctx); err != nil {
		return out, err
	}
	req := registration{
		ID: a.ID(), Name: a.opts.Name, Description: a.opts.Description, Scope: a.opts.Scope, Capabilities: a.opts.Capabilities,
		Endpoint: a.opts.Endpoint, Metadata: a.opts.Metadata,
	}
	if req.Capabilities == nil {
		req.Capabilities = meeting.CoreActions()
	}
	if err := a.prove(ctx, &req); err != nil {
		return out, err
	}
	if err := a.call(ctx, request{method: "POST", path: "/register", body: req, bare: true}, &out); err != nil {
		return out, err
	}
	a.mu.Lock()
	before := a.entered
	a.id, a.token, a.entered = orElse(out.AgentID, a.id), out.SessionToken, true
	a.mu.Unlock()
	if a.ring().RSA == nil {
		return out, nil
	}
	err := a.PublishKey(ctx)
	if err == nil {
		err = a.ownBinding(ctx)
	}
	if err != nil && !before {
		a.stepBack(ctx)
	}
	return out, err
}

// stepBack leaves after a registration that came to nothing. What cannot be taken back
// expires there; Entered tells.
func (a *Agent) stepBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	_, _ = a.Unregister(ctx)
}

// admitted asks whether whoever answers at the address is who was meant.
func (a *Agent) admitted(ctx context.Context) error {
	if a.opts.Admit == nil {
		return nil
	}
	info, err := a.Look(ctx)
	if err != nil {
		return err
	}
	return a.opts.Admit(ctx, info)
}

// prove adds a challenge's answer where the place asks for one, else a signed identity.
func (a *Agent) prove(ctx context.Context, req *registration) error {
	key := a.ring().RSA
	if key == nil {
		return nil
	}
	req.PublicKey = key.Public().PEM()
	if a.offers(ctx, board.FeatureChallenge) {
		proof, err := a.challenge(ctx, req.ID)
		req.Proof = proof
		return err
	}
	static, err := mmp.SignIdentity(key, mmp.Identity{
		Description: a.opts.Description, InstanceID: req.ID, Name: a.opts.Name, Scope: orElse(a.opts.Scope, "general"), Version: a.opts.Version,
		RegistersAt: a.called,
	})
	req.Identity, req.IdentitySignature = static.Identity, static.Signature
	return err
}

func (a *Agent) challenge(ctx context.Context, id string) (*mmp.Proof, error) {
	var c mmp.ChallengeAnswer
	if err := a.call(ctx, request{method: "POST", path: "/challenge", body: map[string]string{"agent_id": id}, bare: true}, &c); err != nil {
		return nil, err
	}
	if err := a.isPlace(ctx, id, c); err != nil {
		return nil, err
	}
	proof, err := c.For(id).Sign(a.ring().RSA)
	return &proof, err
}

// isPlace looks whether a challenge is of the place that was called and that showed
// itself there. What is signed for another one would open that one to this one.
func (a *Agent) isPlace(ctx context.Context, id string, c mmp.ChallengeAnswer) error {
	if err := c.Verify(id, a.called, a.opts.Now()); err != nil {
		return err
	}
	info, err := a.Info(ctx)
	if err == nil && (info.PlaceKey == nil || *info.PlaceKey != c.PlaceKey) {
		return fmt.Errorf("%w: it shows another one", mmp.ErrPlaceUnproven)
	}
	a.mu.Lock()
	a.proven = c.PlaceKey
	a.mu.Unlock()
	return err
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// PublishKey puts the agent's key into the directory, with the entry that lets
// others seal better.
func (a *Agent) PublishKey(ctx context.Context) error {
	ring := a.ring()
	if ring.RSA == nil {
		return ErrUnsigned
	}
	body := map[string]any{"agent_id": a.ID(), "public_key": ring.RSA.Public().PEM()}
	if a.offers(ctx, board.FeatureEnvelope2) {
		entry, err := mmp.SignEntry(ring.RSA, a.ID(), ring.HPKE, a.opts.Now())
		if err != nil {
			return err
		}
		body["entry"], body["entry_signature"] = entry.Entry, entry.Signature
	}
	var out mmp.KeyRegistered
	err := a.call(ctx, request{method: "POST", path: "/keys/register", body: body, once: true}, &out)
	if missing(err) && a.Token() != "" {
		return nil // the place keeps the key that came with the registration
	}
	return err
}

// missing tells that a place does not know a route at all.
func missing(err error) bool {
	e, answered := errors.AsType[*Error](err)
	return answered && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

// Rotate replaces the agent's key; the old one names its successor. All sessions
// end, and the agent registers anew.
func (a *Agent) Rotate(ctx context.Context, next Keys) error {
	old := a.ring().RSA
	if old == nil || next.Ring.RSA == nil {
		return ErrUnsigned
	}
	sig, err := mmp.SignRotation(old, a.ID(), next.Ring.RSA.Public())
	if err != nil {
		return err
	}
	taken, err := mmp.SignSuccession(next.Ring.RSA, a.ID(), old.Public())
	if err != nil {
		return err
	}
	entry, err := mmp.SignEntry(next.Ring.RSA, a.ID(), next.Ring.HPKE, a.opts.Now())
	if err != nil {
		return err
	}
	body := map[string]any{
		"agent_id": a.ID(), "public_key": next.Ring.RSA.Public().PEM(), "rotation_signature": sig,
		"entry": entry.Entry, "entry_signature": entry.Signature, "successor_signature": taken,
	}
	if err := a.call(ctx, request{method: "POST", path: "/keys/register", body: body}, nil); err != nil {
		return err
	}
	a.mu.Lock()
	a.opts.Keys, a.token = next, ""
	a.mu.Unlock()
	_, err = a.Register(ctx)
	return err
}

// Heartbeat keeps the registration alive.
func (a *Agent) Heartbeat(ctx context.Context) (out board.HeartbeatAnswer, err error) {
	err = a.call(ctx, request{method: "POST", path: "/heartbeat", body: map[string]string{"agent_id": a.ID()}}, &out)
	return out, err
}

// Unregister leaves; the session ends with it.
func (a *Agent) Unregister(ctx context.Context) (out board.UnregisterAnswer, err error) {
	err = a.call(ctx, request{method: "POST", path: "/unregister", body: map[string]string{"agent_id": a.ID()}, once: true}, &out)
	if err == nil {
		a.mu.Lock()
		a.token, a.entered = "", false
		a.mu.Unlock()
	}
	return out, err
}

// Entered tells whether the place has let this agent in and not heard yet that it left.
func (a *Agent) Entered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.entered
}

// Agents lists who is there.
func (a *Agent) Agents(ctx context.Context, q board.AgentsQuery) (out board.AgentsAnswer, err error) {
	v := url.Values{}
	for name, value := range map[string]string{"scope": q.Scope, "capability": q.Capability, "search": q.Search} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", fmt.Sprint(q.Limit))
	}
	err = a.call(ctx, request{method: "GET", path: "/agents", query: v}, &out)
	return out, err
}

// Agent finds one.
func (a *Agent) Agent(ctx context.Context, id string) (out board.Agent, err error) {
	err = a.call(ctx, request{method: "GET", path: "/agents/" + url.PathEscape(id)}, &out)
	return out, err
}

// Audit reads the place's metadata about what happened.
func (a *Agent) Audit(ctx context.Context, limit int) (out board.AuditAnswer, err error) {
	err = a.call(ctx, request{method: "GET", path: "/audit", query: url.Values{"limit": {fmt.Sprint(limit)}}}, &out)
	return out, err
}

// Close gives connections back. The registration stays; see Unregister.
func (a *Agent) Close() error {
	a.disconnect()
	a.http.CloseIdleConnections()
	return a.opts.Peers.Save()
}

// errNoSession is a place's word that a token ended.
func errNoSession(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusUnauthorized
}
