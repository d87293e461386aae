package place

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// Info says what this place is; anybody may ask.
func (p *Place) Info(ctx context.Context, _ Visitor) (board.Info, error) {
	f, err := p.counted(ctx)
	if err != nil {
		return board.Info{}, err
	}
	key := p.PlaceKey()
	return board.Info{
		Name: p.c.Name, Description: p.c.Description, Version: p.c.Version, ProtocolVersion: mmp.ProtocolVersion, PlaceID: p.id, PlaceKey: &key,
		Auth: string(p.c.Auth), Features: board.Features(p.c.Federation), AgentsCount: f.agents, RegisteredAgents: f.agents, MaxAgents: p.c.MaxAgents,
		PostingsCount: f.postings, PendingMessages: f.relay.TotalMessages,
		Limits: map[string]int64{
			"registry_ttl_seconds": int64(p.c.RegistryTTL.Seconds()), "session_ttl_seconds": int64(p.c.TokenTTL.Seconds()),
			"posting_ttl_hours": int64(p.c.PostingTTL.Hours()), "max_postings_per_agent": int64(p.c.PostingLimit),
			"relay_ttl_seconds": int64(p.c.RelayTTL.Seconds()), "max_message_size_bytes": mmp.MaxBlob, "max_queue_size": int64(p.c.QueueLimit),
			"max_wait_seconds": int64(mmp.MaxWait.Seconds()), "max_polls_per_agent": int64(p.c.MaxPolls),
		},
		DepositLimits: map[string]int64{
			"max_deposits_per_agent": int64(p.c.DepositLimit), "max_skill_size_bytes": mmp.MaxSkill, "max_deposits_per_hour": int64(p.deposits.Most),
		},
		SessionRatePerMinute: 600, PrivacyNote: board.PrivacyNote, StartedAt: mmp.At(p.started), Timestamp: mmp.At(p.now()),
	}, nil
}

// Health is the short form, at the root.
func (p *Place) Health(ctx context.Context) (board.Health, error) {
	f, err := p.counted(ctx)
	return board.Health{Status: "ok", Place: p.c.Name, Agents: f.agents, Postings: f.postings, Timestamp: mmp.At(p.now())}, err
}

// Welcome tells a newcomer how to go on.
func (p *Place) Welcome(context.Context) board.Welcome {
	return board.Welcome{
		PlaceName: p.c.Name,
		Guide: "Register at POST /place/v1/register; prove your key with POST /place/v1/challenge for a session token. " +
			"Find others with GET /place/v1/agents and /place/v1/board/browse, fetch a key from /place/v1/keys/{agent_id}, " +
			"seal your message and send it to /place/v1/relay/send. Messages for you wait at /place/v1/relay/receive.",
		AvailableTools: []string{
			"register", "heartbeat", "unregister", "agents", "agent_profile", "board/post", "board/browse", "board/needs", "deposit", "preview",
			"skill_content", "keys", "relay/send", "relay/receive", "relay/ack", "relay/sent", "audit",
		},
	}
}

// Stats sums everything; strict wants a token.
func (p *Place) Stats(ctx context.Context, who Visitor) (board.Stats, error) {
	var out board.Stats
	if err := p.admit(who); err != nil {
		return out, err
	}
	f, err := p.counted(ctx)
	if err != nil {
		return out, err
	}
	audit, err := p.AuditStats(ctx, Visitor{Actor: identity.Hub()}, 1)
	if err != nil {
		return out, err
	}
	out.Place = map[string]any{"name": p.c.Name, "place_id": p.id, "auth": string(p.c.Auth), "started_at": mmp.At(p.started)}
	out.MessageRelay, out.Audit, out.Timestamp = f.relay, audit.Summary, mmp.At(p.now())
	out.Registry.TotalAgents, out.BulletinBoard.TotalPostings = f.agents, f.postings
	return out, p.read(ctx, func(tx *store.Tx) error {
		if err := p.registryStats(tx, &out.Registry); err != nil {
			return err
		}
		return p.boardStats(tx, &out.BulletinBoard)
	})
}

// sampled bounds what the details of /stats look at.
const sampled = 10_000

// scopes keeps the sums over all registrations for a while: the longer the more
// it cost to make them.
type scopes struct {
	mu    sync.Mutex
	at    time.Time
	cost  time.Duration
	value board.RegistryStats
}

// mostScopes bounds an answer: agents choose what they call their scope.
const mostScopes = 1000

func (p *Place) registryStats(tx *store.Tx, s *board.RegistryStats) error {
	c := &p.scopes
	c.mu.Lock()
	defer c.mu.Unlock()
	total := s.TotalAgents
	if age := time.Since(c.at); c.at.IsZero() || age >= 20*c.cost {
		began := time.Now()
		fresh, err := p.sumScopes(tx)
		if err != nil {
			return err
		}
		c.at, c.cost, c.value = time.Now(), time.Since(began), fresh
		if c.cost < 5*time.Millisecond {
			c.cost = 0
		}
	}
	*s = c.value
	s.TotalAgents = total
	return nil
}

func (p *Place) sumScopes(tx *store.Tx) (s board.RegistryStats, err error) {
	s.ByScope = map[string]int64{}
	err = tx.Each(func(r *sql.Rows) error {
		var scope string
		var n, oldest, newest int64
		if err := r.Scan(&scope, &n, &oldest, &newest); err != nil {
			return err
		}
		s.ByScope[scope] = n
		if at := store.Time(oldest); s.OldestRegistration.IsZero() || at.Before(s.OldestRegistration.Time) {
			s.OldestRegistration = mmp.At(at)
		}
		if at := store.Time(newest); at.After(s.NewestRegistration.Time) {
			s.NewestRegistration = mmp.At(at)
		}
		return nil
	}, `SELECT scope, count(*), min(registered_at), max(registered_at) FROM place_agents WHERE expires_at > ? GROUP BY scope ORDER BY 2 DESC, 1 LIMIT ?`,
		store.Micros(p.now()), mostScopes)
	return s, err
}

func (p *Place) boardStats(tx *store.Tx, s *board.BoardStats) error {
	s.ByType, s.ByFormat, s.PopularTags = map[string]int64{}, map[string]int64{}, map[string]int64{}
	agents := map[string]bool{}
	err := tx.Each(func(r *sql.Rows) error {
		posting, err := scanPosting(r)
		if err != nil {
			return err
		}
		s.ByType[posting.Type]++
		s.ByFormat[posting.SkillFormat]++
		agents[posting.AgentID] = true
		for _, tag := range posting.Tags {
			s.PopularTags[tag]++
		}
		return nil
	}, postingQuery+` WHERE p.expires_at > ? ORDER BY p.created_at DESC LIMIT ?`, store.Micros(p.now()), sampled)
	s.UniqueAgents = int64(len(agents))
	return err
}
