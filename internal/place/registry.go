package place

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/limit"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// agentRow is a registration as it is kept.
type agentRow struct {
	id, name, description, scope     string
	capabilities, endpoint, metadata string
	verified                         bool
	ttl                              time.Duration
	registered, lastSeen             time.Time
	// of the agent's key
	keyID   string
	proven  bool
	trusted bool
}

const agentQuery = `SELECT a.id, a.name, a.description, a.scope, a.capabilities, a.endpoint, a.metadata, a.verified, a.ttl, a.registered_at, a.last_seen,
	COALESCE(k.key_id, ''), ` + provenSince + `, CASE WHEN t.key_id IS NULL THEN 0 ELSE 1 END
	FROM place_agents a LEFT JOIN place_keys k ON k.agent = a.id LEFT JOIN place_trust t ON t.key_id = k.key_id`

func scanAgent(row store.Row) (*agentRow, error) {
	var a agentRow
	var verified, ttl, registered, seen, proven, trusted int64
	err := row.Scan(&a.id, &a.name, &a.description, &a.scope, &a.capabilities, &a.endpoint, &a.metadata, &verified, &ttl, &registered, &seen,
		&a.keyID, &proven, &trusted)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	a.verified, a.ttl, a.registered, a.lastSeen = verified != 0, time.Duration(ttl)*time.Microsecond, store.Time(registered), store.Time(seen)
	a.proven, a.trusted = proven != 0, trusted != 0
	return &a, err
}

// agentRow reads a registration, with what is not written yet; nil when there is none.
func (p *Place) agentRow(tx *store.Tx, id string) (*agentRow, error) {
	a, err := scanAgent(tx.QueryRow(agentQuery+` WHERE a.id = ?`, id))
	if a != nil {
		p.freshen(a)
	}
	return a, err
}

func (p *Place) freshen(a *agentRow) {
	if at, ok := p.seen(a.id); ok && at.After(a.lastSeen) {
		a.lastSeen = at
	}
}

func (a *agentRow) expires() time.Time { return a.lastSeen.Add(a.ttl) }

func (p *Place) alive(a *agentRow) bool { return a.expires().After(p.now()) }

// Register lets an agent in. What it proves decides whether it gets a token.
func (p *Place) Register(ctx context.Context, who Visitor, req *board.Registration) (board.RegisterAnswer, error) {
	if err := errors.Join(shown("name", req.Name, "scope", req.Scope, "endpoint", req.Endpoint), clean("description", req.Description)); err != nil {
		return board.RegisterAnswer{}, err
	}
	if !who.holds(req.ID) && (who.Agent != "" || who.OfHub()) {
		return board.RegisterAnswer{}, mmp.ErrNotYourAgent
	}
	c, err := p.judge(ctx, who, req.ID, req.PublicKey, req.Static, req.Proof)
	if err != nil {
		return board.RegisterAnswer{}, p.refusedAuth(ctx, req.ID, err)
	}
	out, err := p.enroll(ctx, who, req, c)
	if err != nil {
		return board.RegisterAnswer{}, p.refusedAuth(ctx, req.ID, err)
	}
	p.dropSeen(req.ID)
	p.figures.stale()
	return out, nil
}

// enroll lets those without a key in together, and each of the others alone.
func (p *Place) enroll(ctx context.Context, who Visitor, req *board.Registration, c claim) (out board.RegisterAnswer, err error) {
	if c.key == nil {
		e := &entering{who: who, req: req, claim: c}
		err = p.arrivals.Do(ctx, e)
		return e.answer, err
	}
	revoked := false
	err = p.write(ctx, func(tx *store.Tx) (err error) {
		out, revoked, err = p.register(tx, who, req, c)
		return err
	})
	if err == nil && revoked {
		p.tell(subjectRevoked, req.ID)
	}
	return out, err
}

// dropSeen: the registration just written is newer than any sign of life before it.
func (p *Place) dropSeen(id string) {
	p.presence.mu.Lock()
	defer p.presence.mu.Unlock()
	delete(p.presence.agents, id)
}

func (p *Place) register(tx *store.Tx, who Visitor, req *board.Registration, c claim) (out board.RegisterAnswer, revoked bool, err error) {
	now := p.now()
	out = board.RegisterAnswer{AgentID: req.ID, Status: board.StatusRegistered, PlaceID: p.id, RegisteredAt: mmp.At(now)}
	old, err := keyOf(tx, req.ID, true)
	if err != nil {
		return out, false, err
	}
	row, err := p.agentRow(tx, req.ID)
	if err != nil {
		return out, false, err
	}
	lives := row != nil && p.alive(row)
	v, err := p.decide(who, c, old, lives, req.ID)
	if err != nil {
		return out, false, err
	}
	out.IdentityVerified = v.verified
	if c.fits && !c.covers && p.c.Auth == Strict {
		// Somebody's valid signature, but not for this id: answered, and not let in.
		out.ExpiresAt = mmp.At(now)
		return out, false, nil
	}
	if err := p.room(who, row); err != nil {
		return out, false, err
	}
	if lives {
		out.RegisteredAt, out.Updated = mmp.At(row.registered), true
	}
	ttl := p.c.RegistryTTL
	if v.owner || who.holds(req.ID) {
		ttl = p.c.ProvenTTL
	}
	if revoked, err = p.keepKey(tx, old, req, c, v, &out); err != nil {
		return out, revoked, err
	}
	out.ExpiresAt = mmp.At(now.Add(ttl))
	if err := putAgents.Exec(tx, agentValues(nil, req, v, ttl, now, out)); err != nil {
		return out, false, err
	}
	return out, revoked, newEntries.Exec(tx, enterNote(nil, now, out))
}

// room refuses what would make the place overflow.
func (p *Place) room(who Visitor, row *agentRow) error {
	if row != nil {
		return nil
	}
	if p.figures.agentsAbout() >= p.c.MaxAgents {
		return mmp.ErrPlaceFull
	}
	if ok, wait := p.newIDs.Allow(limit.Network(who.Actor.Address), p.now()); !ok {
		return mmp.ErrRateLimited.WithRetry(retryIn(wait))
	}
	p.figures.agents.Add(1) // counted anew every minute
	return nil
}

// keepKey stores the key that came along and rewards a proof with a token.
func (p *Place) keepKey(tx *store.Tx, old *keyRow, req *board.Registration, c claim, v verdict, out *board.RegisterAnswer) (revoked bool, err error) {
	if c.key == nil || old.isHeld() && !v.owner {
		return false, nil
	}
	if !v.owner {
		return p.putKey(tx, old, req.ID, c.key, mmp.SignedEntry{}, "", mmp.Binding{})
	}
	var won Proven
	if revoked, err = p.reward(tx, old, req.ID, c, &won); err != nil {
		return revoked, err
	}
	out.SessionToken, out.SessionExpiresAt = won.Token, mmp.At(won.Expires)
	out.Fingerprint, out.KeyID = c.key.Fingerprint(), c.key.KeyID()
	return revoked, nil
}

var putAgents = store.ManyRows(`INSERT INTO place_agents (id, name, description, scope, capabilities, endpoint, metadata, verified, ttl, registered_at, last_seen, expires_at)
		VALUES `, `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, ` ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, scope = excluded.scope,
			capabilities = excluded.capabilities, endpoint = excluded.endpoint, metadata = excluded.metadata, verified = excluded.verified,
			ttl = excluded.ttl, registered_at = excluded.registered_at, last_seen = excluded.last_seen, expires_at = excluded.expires_at`)

// agentValues adds a registration to what is to be written.
func agentValues(args []any, req *board.Registration, v verdict, ttl time.Duration, at time.Time, out board.RegisterAnswer) []any {
	now, us := store.Micros(at), ttl.Microseconds()
	return append(args, req.ID, req.Name, req.Description, req.Scope, string(req.Capabilities), req.Endpoint, string(req.Metadata), store.Bool(v.verified),
		us, store.Micros(out.RegisteredAt.Time), now, now+us)
}

var newEntries = store.ManyRows(`INSERT INTO place_audit (at, event, action, agent, other, ref, kind, size, hash, detail) VALUES `,
	`(?, '`+board.AuditRegistration+`', ?, ?, '', '', '', 0, '', '')`, ``)

// enterNote adds the audit's entry of a registration to what is to be written.
func enterNote(args []any, now time.Time, out board.RegisterAnswer) []any {
	return append(args, store.Micros(now), enterAction(out), out.AgentID)
}

func enterAction(out board.RegisterAnswer) string {
	if out.Updated {
		return "update"
	}
	return "register"
}

// Heartbeat keeps a registration alive; within one further life it revives it.
func (p *Place) Heartbeat(ctx context.Context, who Visitor, agent string) (board.HeartbeatAnswer, error) {
	var row *agentRow
	err := p.read(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, agent); err != nil {
			return err
		}
		var err error
		row, err = p.agentRow(tx, agent)
		if err == nil && (row == nil || !row.expires().Add(row.ttl).After(p.now())) {
			err = mmp.ErrAgentNotFound
		}
		return err
	})
	if err != nil {
		return board.HeartbeatAnswer{}, err
	}
	p.touch(agent)
	now := p.now()
	return board.HeartbeatAnswer{AgentID: agent, Status: board.StatusActive, LastSeen: mmp.At(now), ExpiresAt: mmp.At(now.Add(row.ttl))}, nil
}

// Unregister removes an agent with its tokens, needs and deposits; pin, queue and
// postings live to their own end.
func (p *Place) Unregister(ctx context.Context, who Visitor, agent string) (board.UnregisterAnswer, error) {
	out := board.UnregisterAnswer{AgentID: agent, Status: board.StatusUnregistered}
	err := p.write(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, agent); err != nil {
			return err
		}
		row, err := p.agentRow(tx, agent)
		if err != nil {
			return err
		}
		if row == nil || !p.alive(row) {
			if !who.holds(agent) {
				return mmp.ErrAgentNotFound
			}
			out.Status = board.StatusNotFound
		} else {
			out.WasRegisteredFor = int64(p.now().Sub(row.registered) / time.Second)
		}
		return p.leave(tx, agent, row != nil)
	})
	if err != nil {
		return board.UnregisterAnswer{}, err
	}
	p.dropSeen(agent)
	p.tell(subjectRevoked, agent)
	p.figures.stale()
	return out, nil
}

func (p *Place) leave(tx *store.Tx, agent string, was bool) error {
	for _, query := range []string{
		`DELETE FROM place_agents WHERE id = ?`, `DELETE FROM place_tokens WHERE agent = ?`, `DELETE FROM place_needs WHERE agent = ?`,
		`DELETE FROM place_deposits WHERE owner = ?`, `DELETE FROM place_attests WHERE owner = ?`,
	} {
		if _, err := tx.Exec(query, agent); err != nil {
			return err
		}
	}
	if !was {
		return nil
	}
	return p.note(tx, board.AuditEntry{EventType: board.AuditRegistration, Action: "unregister", AgentID: agent})
}

// Agent finds one living agent.
func (p *Place) Agent(ctx context.Context, who Visitor, id string) (board.Agent, error) {
	if err := p.admit(who); err != nil {
		return board.Agent{}, err
	}
	if local, peer := mmp.SplitAddress(id); peer != "" {
		return p.remoteAgent(ctx, local, peer)
	}
	var row *agentRow
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		row, err = p.agentRow(tx, id)
		return err
	})
	if err == nil && (row == nil || !p.alive(row)) {
		err = mmp.ErrAgentNotFound
	}
	if err != nil {
		return board.Agent{}, err
	}
	return p.show(who, row), nil
}

func (p *Place) show(who Visitor, a *agentRow) board.Agent {
	trust := "L2"
	switch {
	case a.trusted && a.proven:
		trust = "L0"
	case a.proven:
		trust = "L1"
	}
	return board.Agent{
		ID: a.id, Name: a.name, Description: a.description, Scope: a.scope, Capabilities: raw(a.capabilities), Endpoint: optional(a.endpoint),
		RegisteredAt: mmp.At(a.registered), LastSeen: mmp.At(a.lastSeen), ExpiresAt: mmp.At(a.expires()), Metadata: raw(a.metadata),
		Proven: a.proven, Trust: &trust, KeyID: optional(a.keyID), IsSelf: who.holds(a.id),
	}
}

// raw is JSON out of the store; nothing is null.
func raw(s string) mmp.Raw {
	if s == "" {
		return nil
	}
	return mmp.Raw(s)
}

// Agents lists living agents in order of registration.
func (p *Place) Agents(ctx context.Context, who Visitor, q board.AgentsQuery) (board.AgentsAnswer, error) {
	if err := p.admit(who); err != nil {
		return board.AgentsAnswer{}, err
	}
	out := board.AgentsAnswer{Agents: []board.Agent{}}
	err := p.read(ctx, func(tx *store.Tx) error {
		err := p.eachAgent(tx, func(a *agentRow) bool {
			if shown := p.show(who, a); matchesAgent(q, shown) && (q.IncludeSelf || !shown.IsSelf) {
				out.Agents = append(out.Agents, shown)
			}
			return q.Limit == 0 || len(out.Agents) < q.Limit
		})
		if err != nil || !q.IncludeRemote || q.Limit != 0 && len(out.Agents) >= q.Limit {
			return err
		}
		return p.eachRemote(tx, func(a board.Agent) bool {
			if matchesAgent(q, a) {
				out.Agents = append(out.Agents, a)
			}
			return q.Limit == 0 || len(out.Agents) < q.Limit
		})
	})
	out.Count = len(out.Agents)
	return out, err
}

// maxListed bounds a listing without a limit, which is what old clients ask for.
const maxListed = 10_000

// eachAgent calls fn for living agents until it says stop.
func (p *Place) eachAgent(tx *store.Tx, fn func(*agentRow) bool) error {
	// What is not flushed yet may live although its row says otherwise.
	since := store.Micros(p.now().Add(-5 * time.Second))
	listed := 0
	errStop := errors.New("enough")
	err := tx.Each(func(r *sql.Rows) error {
		a, err := scanAgent(r)
		if err != nil {
			return err
		}
		p.freshen(a)
		if !p.alive(a) {
			return nil
		}
		if listed++; !fn(a) || listed >= maxListed {
			return errStop
		}
		return nil
	}, agentQuery+` WHERE a.expires_at > ? ORDER BY a.registered_at, a.id`, since)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func matchesAgent(q board.AgentsQuery, a board.Agent) bool {
	if q.Scope != "" && a.Scope != q.Scope {
		return false
	}
	if q.Capability != "" && !slices.Contains(board.CapabilityNames(a.Capabilities), q.Capability) {
		return false
	}
	return q.Search == "" || contains(a.Name, q.Search) || contains(a.Description, q.Search) || contains(a.ID, q.Search)
}

// contains is a substring, whatever the case.
func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
