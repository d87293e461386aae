package board

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/limit"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/viber"
)

const (
	// sessionLife is how long a session lasts without a refresh.
	sessionLife = 24 * time.Hour
	// callTime bounds one call into the domain.
	callTime = 30 * time.Second
)

// refusal is why somebody is not let in.
type refusal struct {
	code   viber.Code
	reason viber.Reason
	text   string
	token  string // its id, if known
}

func (r *refusal) Error() string { return fmt.Sprintf("%s/%s", r.code, r.reason) }

func failed(reason viber.Reason, text string) error {
	return &refusal{code: viber.CodeAuthFailed, reason: reason, text: text}
}

// proof is what an authentication found out.
type proof struct {
	session identity.Actor
	paired  *identity.Paired
}

// authenticate lets a client in, or ends the connection.
func (c *conn) authenticate(a *viber.Auth, id string) {
	if c.who() != nil {
		c.protocolError(viber.NewError(viber.CodeProtocolError, viber.ReasonAlreadyAuthenticated, "this connection is authenticated already"), id)
		return
	}
	found, ok := c.prove(a, c.nonce, id)
	if !ok {
		return
	}
	s := found.session.InSession(a.Scopes, identity.Role(a.Role), a.DeviceID).From(c.address)
	l := &login{id: ids.New(), session: s, role: a.Role, device: a.DeviceID}
	c.ws.SetDeadline(0, nil)
	c.ws.SetReadLimit(c.face.readLimit(c.face.limits.MaxFrame))
	c.caller.Known()
	c.input = newInputLimiter(c.face.limits.InputPerSecond)
	answer := c.adopt(l, found.paired)
	c.face.note(audit.Entry{Actor: s.String(), Action: audit.AuthAccepted, Target: l.id, Detail: c.detail(l, map[string]any{"scopes": s.Scopes.Sorted(), "role": string(a.Role)})})
	c.join(l, func() { c.send(answer, id) })
	c.arrived(l)
}

// detail is how the trail names a connection.
func (c *conn) detail(l *login, more map[string]any) map[string]any {
	if more == nil {
		more = map[string]any{}
	}
	more["by_address"] = c.address
	for name, value := range map[string]string{"by_token": l.session.TokenID, "by_page": l.session.PageID, "by_device": l.session.Device} {
		if value != "" {
			more[name] = value
		}
	}
	return more
}

// prove finds out who a client is. A failure has been answered, and ends the
// connection.
func (c *conn) prove(a *viber.Auth, nonce, id string) (proof, bool) {
	try, err := c.face.attempts.Attempt(c.address)
	if err != nil {
		c.throttled(err, id)
		return proof{}, false
	}
	defer try.End()
	ctx, cancel := context.WithTimeout(c.ctx, callTime)
	defer cancel()
	found, err := c.identify(ctx, a, nonce)
	if err == nil {
		try.Succeeded()
		return found, true
	}
	c.refuse(err, id, try)
	return proof{}, false
}

func (c *conn) throttled(err error, id string) {
	wait := time.Minute
	if t, ok := errors.AsType[*limit.Error](err); ok {
		wait = t.RetryAfter
	}
	c.fatal(viber.NewRateLimited("", "too many attempts from this address", wait), viber.CloseRate, id)
}

// refuse says why and closes. A store that is away is nobody's wrong password.
func (c *conn) refuse(err error, id string, try *limit.Attempt) {
	if errors.Is(err, limit.ErrTooMany) {
		c.throttled(err, id)
		return
	}
	why, ok := errors.AsType[*refusal](err)
	if !ok {
		c.face.log.Error("a client cannot be authenticated", "error", err)
		c.fatal(viber.NewError(viber.CodeInternalError, "", "the hub cannot tell who you are right now"), viber.CloseInternal, id)
		return
	}
	locked := try.Failed()
	detail := map[string]any{"by_address": c.address}
	if why.token != "" {
		detail["by_token"] = why.token
	}
	c.face.note(audit.Entry{Actor: "address:" + c.address, Action: audit.AuthRefused, Outcome: string(why.reason), Detail: detail})
	if locked {
		c.face.note(audit.Entry{Actor: "address:" + c.address, Action: audit.AuthLocked, Outcome: "locked", Detail: map[string]any{"by_address": c.address}})
	}
	c.fatal(viber.NewError(why.code, why.reason, why.text), viber.CloseAuth, id)
}

// identify looks at the credential and the signature.
func (c *conn) identify(ctx context.Context, a *viber.Auth, nonce string) (proof, error) {
	// A short code is only good for pairing, which needs a key and a signature.
	if a.PublicKey != "" && a.ChallengeResponse != "" && identity.CodeForm(a.Token) {
		return c.pair(ctx, a, nonce, viber.RoleOperator)
	}
	s, err := c.credential(ctx, a)
	if err != nil {
		return proof{}, tokenRefusal(err)
	}
	if s.Role != identity.Role(a.Role) {
		return proof{}, &refusal{code: viber.CodeAuthFailed, reason: viber.ReasonRoleMismatch, text: "the token is for the role " + string(s.Role), token: s.TokenID}
	}
	if s.Credential == identity.TokenPairing {
		return c.pair(ctx, a, nonce, a.Role)
	}
	key, err := c.keyOf(ctx, a, s)
	if err == nil {
		err = c.verify(a, nonce, key, c.mustSign(a.Role, s.Credential))
	}
	if why, ok := errors.AsType[*refusal](err); ok {
		why.token = s.TokenID
	}
	return proof{session: s}, err
}

// credential is the token's session; the page's, which came with the handshake;
// or that of a hub that asks nobody on its own machine.
func (c *conn) credential(ctx context.Context, a *viber.Auth) (identity.Actor, error) {
	switch {
	case a.Token != "":
		return c.face.d.People.Authenticate(ctx, a.Token)
	case c.cookie != "":
		return c.face.d.People.AuthenticatePage(ctx, c.cookie)
	case c.face.d.Anonymous != nil && c.local:
		return *c.face.d.Anonymous, nil
	}
	return identity.Actor{}, failed(viber.ReasonMissingToken, "a token is needed")
}

// tokenRefusal tells a token that is no longer good from one that never was.
func tokenRefusal(err error) error {
	auth, ok := errors.AsType[*identity.AuthError](err)
	if !ok {
		return err
	}
	r := &refusal{code: viber.CodeInvalidToken, reason: viber.Reason(auth.Reason), token: auth.TokenID}
	switch auth.Reason {
	case identity.Malformed:
		r.text = "this is not the form of a token"
	case identity.Expired:
		r.text = "the token has expired"
	case identity.Revoked:
		r.text = "the token was revoked"
	case identity.Used:
		r.text = "the token could be used once and was"
	default:
		r.code, r.text = viber.CodeAuthFailed, "the token is unknown"
	}
	return r
}

// mustSign reports whether the challenge must be signed. A page proves itself by
// its cookie, which no script can read and no other site can send.
func (c *conn) mustSign(role viber.Role, via identity.TokenKind) bool {
	switch {
	case via == identity.TokenPairing || via == identity.TokenDevice:
		return true
	case via == identity.ViaPage || c.face.d.Challenge == ChallengeNever:
		return false
	case c.face.d.Challenge == ChallengeAlways:
		return true
	}
	return role == viber.RoleNode || !c.local
}

// keyOf is the key a signature must be of: the pinned one of a device, else the
// one that came along; nil if there is none.
func (c *conn) keyOf(ctx context.Context, a *viber.Auth, s identity.Actor) (ed25519.PublicKey, error) {
	var sent ed25519.PublicKey
	if a.PublicKey != "" {
		key, err := identity.ParsePublicKey(a.PublicKey)
		if err != nil {
			return nil, failed(viber.ReasonBadSignature, "the public key is not 32 bytes in base64url")
		}
		if sent = key; identity.DeviceID(key) != a.DeviceID {
			return nil, failed(viber.ReasonDeviceMismatch, "the device id does not belong to the key")
		}
	}
	if s.Credential != identity.TokenDevice {
		return sent, nil
	}
	dev, err := c.face.d.People.Device(ctx, s.Device)
	if err != nil && !errors.Is(err, identity.ErrNotFound) {
		return nil, err
	}
	if err != nil || a.DeviceID != s.Device || sent != nil && !sent.Equal(dev.PublicKey) {
		return nil, failed(viber.ReasonDeviceMismatch, "the token belongs to another device")
	}
	return dev.PublicKey, nil
}

// verify checks a signature that is there, and demands one that must be.
func (c *conn) verify(a *viber.Auth, nonce string, key ed25519.PublicKey, must bool) error {
	switch {
	case a.ChallengeResponse == "" && must:
		return failed(viber.ReasonChallengeRequired, "the challenge must be signed with the device's key")
	case a.ChallengeResponse == "":
		return nil
	case key == nil:
		return failed(viber.ReasonBadSignature, "no key to check the signature with: send public_key")
	case nonce == c.nonce && time.Since(c.issued) > viber.ChallengeLife:
		return failed(viber.ReasonChallengeExpired, "the challenge is too old")
	}
	err := identity.Challenge(a.Challenge(nonce)).Verify(key, a.ChallengeResponse)
	switch {
	case err == nil:
		return nil
	case identity.ReasonOf(err) == identity.DeviceMismatch:
		return failed(viber.ReasonDeviceMismatch, "the device id does not belong to the key")
	}
	for _, other := range c.face.nonces.others(nonce) {
		if identity.Challenge(a.Challenge(other)).Verify(key, a.ChallengeResponse) == nil {
			return failed(viber.ReasonChallengeMismatch, "another connection's challenge was signed")
		}
	}
	return failed(viber.ReasonBadSignature, "the signature does not fit the challenge and what was sent")
}

// pair makes a device of whoever holds a pairing token and a key.
func (c *conn) pair(ctx context.Context, a *viber.Auth, nonce string, role viber.Role) (proof, error) {
	try, err := c.face.pairings.Attempt(c.address)
	if err != nil {
		return proof{}, err
	}
	defer try.End()
	key, err := c.keyOf(ctx, a, identity.Actor{})
	if err != nil {
		return proof{}, err
	}
	if err := c.verify(a, nonce, key, true); err != nil {
		return proof{}, err
	}
	if role != a.Role {
		return proof{}, failed(viber.ReasonRoleMismatch, "a pairing code makes operators")
	}
	name := a.DeviceID
	if a.Client != nil && a.Client.Name != "" {
		name = a.Client.Name
	}
	paired, err := c.face.d.People.Pair(ctx, identity.PairRequest{Secret: a.Token, PublicKey: key, Name: name, Address: c.address})
	if errors.Is(err, identity.ErrDeviceTaken) {
		return proof{}, failed(viber.ReasonDeviceMismatch, "the device belongs to somebody else")
	}
	if err != nil {
		if errors.Is(err, identity.ErrRefused) {
			try.Failed()
		}
		return proof{}, tokenRefusal(err)
	}
	try.Succeeded()
	return proof{session: paired.Actor, paired: &paired}, nil
}

// adopt makes the connection a session's and gives what the client is told of it.
func (c *conn) adopt(l *login, paired *identity.Paired) *viber.Authenticated {
	session := l.session.Until(time.Now().Add(sessionLife))
	expires := session.Expires
	l.live = c.face.d.People.Track(session, func(reason identity.Reason) { c.expired(l, reason) })
	c.mu.Lock()
	before := c.login
	c.login = l
	ending := c.ending
	c.mu.Unlock()
	if before != nil && before.live != nil {
		before.live.Release()
	}
	if ending {
		l.live.Release() // Closed may have run already
	}
	answer := &viber.Authenticated{
		SessionID: l.id, GrantedScopes: l.session.Scopes.Sorted(), ExpiresAt: viber.At(expires), Principal: l.session.Person.Name,
	}
	if paired != nil {
		answer.DeviceToken, answer.DeviceTokenExpiresAt = paired.Token.Secret, viber.At(paired.Token.Expires)
	}
	return answer
}

// expired ends a connection whose credential has ended. What it started goes on.
func (c *conn) expired(l *login, reason identity.Reason) {
	text := "the token was revoked"
	action := audit.AuthRevoked
	if reason == identity.SessionExpired {
		text, action = "the session has expired; authenticate again", audit.AuthExpired
	}
	c.face.note(audit.Entry{Actor: l.session.String(), Action: action, Target: l.id, Outcome: string(reason), Detail: c.detail(l, nil)})
	c.fatal(viber.NewError(viber.CodeInvalidToken, viber.Reason(reason), text), viber.CloseAuth, "")
}

// refresh renews the session. It can narrow what was granted, never widen it.
func (r *request) refresh(p *viber.Refresh) {
	c := r.c
	found, ok := c.prove(&p.Auth, r.login.id, r.id)
	if !ok {
		return
	}
	s := found.session
	if s.Person.ID != r.login.session.Person.ID || found.paired != nil {
		c.fatal(viber.NewError(viber.CodeAuthFailed, viber.ReasonUnknownToken, "the token is somebody else's"), viber.CloseAuth, r.id)
		return
	}
	s = s.InSession(p.Scopes, identity.Role(p.Role), p.DeviceID).Narrow(r.login.session.Scopes).From(c.address)
	r.answer(c.adopt(&login{id: r.login.id, session: s, role: p.Role, device: p.DeviceID}, nil))
}

// rotate gives a token a new secret, which only this connection sees.
func (r *request) rotate(p *viber.TokenRotate) {
	by, id := r.who(), p.TokenID
	if id == "" && by.PageID == "" { // a page lives by its cookie; the token that opened it is not its own
		id = by.TokenID
	}
	if id == "" {
		r.protocol(viber.ReasonBadPayload, "/token_id", "this connection has no token of its own")
		return
	}
	ctx, cancel := context.WithTimeout(r.c.ctx, callTime)
	defer cancel()
	out, err := r.c.face.d.People.Rotate(ctx, by, id, false)
	switch {
	case errors.Is(err, identity.ErrForbidden):
		r.answer(r.notRotated(ctx, id, err))
	case errors.Is(err, identity.ErrNotFound), errors.Is(err, identity.ErrRefused):
		r.protocol(viber.ReasonBadPayload, "/token_id", "there is no such token")
	case err != nil:
		r.fail(err, "")
	default:
		r.answer(&viber.TokenRotated{Token: out.Secret, TokenID: out.ID, ExpiresAt: viber.At(out.Expires), OldValidUntil: viber.At(out.OldValidUntil)})
	}
}

// notRotated says what a connection lacks for rotating a token: device:manage, or
// what the token itself can do.
func (r *request) notRotated(ctx context.Context, id string, why error) *viber.ConnectionError {
	e := viber.NewInsufficientScope(viber.ScopeDeviceManage, r.who().Scopes.Sorted())
	if !r.who().Scopes.Has(identity.DeviceManage) {
		return e
	}
	e.Message = why.Error()
	if t, err := r.c.face.d.People.Token(ctx, r.who(), id); err == nil {
		e.Details.Required = append(e.Details.Required, t.Scopes.Sorted()...)
	}
	return e
}

// bye answers a client that leaves: behind everything that waits, what goes on
// without it.
func (c *conn) bye(id string) {
	running := []string{}
	if l := c.who(); l != nil && l.session.Scopes.Has(identity.TaskRead) {
		ctx, cancel := context.WithTimeout(c.ctx, callTime)
		defer cancel()
		list, err := c.face.d.Work.Running(ctx, l.session)
		if err != nil {
			c.face.log.Warn("a leaving client does not learn what goes on", "error", err)
		}
		running = append(running, list...)
	}
	c.send(&viber.Goodbye{Reason: viber.GoodbyeClientClose, RunningTasks: running}, id)
	c.end(wsconn.CodeNormal, "")
}

// leave tells the client that the hub ends the connection; false if it is ending
// already.
func (c *conn) leave(reason string, code wsconn.Code) bool {
	c.mu.Lock()
	first := c.leaving == nil && !c.ending
	if first {
		c.leaving = &wsconn.Close{Code: code, Reason: reason}
	}
	c.mu.Unlock()
	if first {
		c.send(&viber.Close{Reason: reason}, "")
	}
	return first
}

// end closes the connection behind what waits, with the hub's reason if it was
// the hub that wanted to.
func (c *conn) end(code wsconn.Code, reason string) {
	c.mu.Lock()
	c.ending = true
	if c.leaving != nil {
		code, reason = c.leaving.Code, c.leaving.Reason
	}
	c.mu.Unlock()
	c.cancel(errLeft)
	_ = c.ws.Close(code, reason) // the codes are all sendable
}
