package room

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// maxTitle is the longest title, in bytes.
const maxTitle = 400

// Open implements API.
func (e *Rooms) Open(ctx context.Context, who identity.Actor, req OpenRequest) (Info, error) {
	id, err := kibitz.NormalizeRoom(req.Room)
	if err != nil {
		return Info{}, err
	}
	if len(req.Title) > maxTitle {
		return Info{}, deny(kibitz.LimitSize, "the title is too long")
	}
	policy := kibitz.DefaultPolicy()
	if len(req.Policy) > 0 {
		if policy, err = kibitz.ReadPolicy(req.Policy); err != nil {
			return Info{}, err
		}
	}
	if req.Title == "" {
		req.Title = id
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Info{}, err
	}
	private, err := kibitz.NewPrivateKey(key)
	if err != nil {
		return Info{}, err
	}
	if err := e.create(ctx, who, id, req.Title, policy, private); err != nil {
		return Info{}, err
	}
	return Info{Room: id, Title: req.Title, Owner: who.Person.ID, Key: jsonOf(private.Public()), Version: 1}, nil
}

func (e *Rooms) create(ctx context.Context, who identity.Actor, id, title string, policy *kibitz.Policy, key *kibitz.PrivateKey) error {
	jwk, err := key.ExportPrivate()
	if err != nil {
		return err
	}
	doc, err := json.Marshal(policy)
	if err != nil {
		return err
	}
	opened := note{kind: audit.RoomOpened, actor: who.String(), detail: "version 1"}.entry(id)
	return e.d.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`INSERT INTO rooms (id, title, owner, room_key, version, policy, lobby, publishers, created_at) VALUES (?, ?, ?, ?, 1, ?, ?, '{}', ?) ON CONFLICT (id) DO NOTHING`,
			id, title, who.Person.ID, string(jwk), string(doc), store.Bool(policy.Lobby.On), store.Micros(time.Now()))
		if err != nil {
			return err
		}
		if n == 0 {
			return deny(kibitz.RoomExists, "there is a room of that name")
		}
		if err := insertPolicy(tx, id, 1, string(doc), who.String()); err != nil {
			return err
		}
		return e.d.Trail.AppendTx(tx, opened)
	})
}

// Resolve implements API. A stored id may end in a dash, which normalising it
// once more would take away: so the text itself is looked for first.
func (e *Rooms) Resolve(ctx context.Context, text string) (string, error) {
	id, err := kibitz.NormalizeRoom(text)
	if err != nil {
		return "", err
	}
	if text != id {
		if err := e.exists(ctx, text); err == nil {
			return text, nil
		}
	}
	return id, e.exists(ctx, id)
}

// List implements API. Figures of a room that no hub has loaded are from the
// store.
func (e *Rooms) List(ctx context.Context, who identity.Actor) ([]Info, error) {
	out := []Info{}
	err := e.d.DB.Read(ctx, func(tx *store.Tx) error {
		out = out[:0]
		return tx.Each(func(row *sql.Rows) error {
			rec, err := scanRoom(row.Scan)
			if err == nil && rec.shownTo(who) {
				out = append(out, infoOf(rec))
			}
			return err
		}, selectRoom+` ORDER BY id`)
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		if live, ok := e.liveInfo(ctx, who, out[i].Room); ok {
			out[i] = live
		}
	}
	return out, nil
}

// shownTo tells whether a room is listed for somebody: theirs, and those that people of
// this hub may enter. Whoever else was invited has the link.
func (rec *record) shownTo(who identity.Actor) bool {
	mode := rec.policy.Humans.Mode
	return who.Owns(rec.owner) || rec.owner == "" && who.Owner || mode == kibitz.HumansHub || mode == kibitz.HumansOpen
}

func infoOf(rec *record) Info {
	return Info{Room: rec.id, Title: rec.title, Owner: rec.owner, Key: jsonOf(rec.key.Public()), Version: rec.version, Locked: rec.locked}
}

// liveInfo asks the hub that has the room, if any has.
func (e *Rooms) liveInfo(ctx context.Context, who identity.Actor, id string) (info Info, ok bool) {
	q := question{Call: &call{Op: "info", By: who}}
	var a answer
	if r, here := e.rooms.Get(id); here {
		got, err := doQuestion(ctx, r, q)
		if err != nil {
			return info, false
		}
		a = got
	} else {
		hub, err := e.d.Leases.Owner(ctx, leaseName(id))
		if err != nil || hub == "" || hub == e.hub {
			return info, false
		}
		if a, err = e.cluster.demand(ctx, hub, id, q); err != nil {
			return info, false
		}
	}
	info, err := valueOf[Info](a.Value)
	return info, err == nil
}

// Get implements API.
func (e *Rooms) Get(ctx context.Context, who identity.Actor, id string) (Info, error) {
	if i, ok := e.liveInfo(ctx, who, id); ok {
		return i, nil
	}
	var info Info
	err := e.d.DB.Read(ctx, func(tx *store.Tx) error {
		rec, err := readRoom(tx, id)
		if err == nil {
			info = infoOf(rec)
		}
		return err
	})
	return info, err
}

// Close implements API.
func (e *Rooms) Close(ctx context.Context, who identity.Actor, id string) error {
	_, err := ask[struct{}](ctx, e, id, &call{Op: "close", By: who})
	return err
}

// Policy implements API.
func (e *Rooms) Policy(ctx context.Context, who identity.Actor, id string) (PolicyState, error) {
	return ask[PolicyState](ctx, e, id, &call{Op: "policy", By: who})
}

// SetPolicy implements API.
func (e *Rooms) SetPolicy(ctx context.Context, who identity.Actor, id string, doc []byte, ifVersion int64) (PolicyState, error) {
	if !json.Valid(doc) {
		return PolicyState{}, deny(kibitz.PolicyBad, "a policy is a JSON object")
	}
	return ask[PolicyState](ctx, e, id, &call{Op: "set-policy", By: who, Doc: doc, Seen: ifVersion})
}

// SetManifest implements API.
func (e *Rooms) SetManifest(ctx context.Context, who identity.Actor, id, token string, key kibitz.Raw, ifVersion int64) (PolicyState, error) {
	return ask[PolicyState](ctx, e, id, &call{Op: "manifest", By: who, Token: token, Key: key, Seen: ifVersion})
}

// Allow implements API.
func (e *Rooms) Allow(ctx context.Context, who identity.Actor, id string, key kibitz.AllowedKey) (PolicyState, error) {
	return ask[PolicyState](ctx, e, id, &call{Op: "allow", By: who, Allowed: key})
}

// Revoke implements API.
func (e *Rooms) Revoke(ctx context.Context, who identity.Actor, id, thumbprint string) (PolicyState, error) {
	return ask[PolicyState](ctx, e, id, &call{Op: "revoke", By: who, ID: thumbprint})
}

// Roster implements API.
func (e *Rooms) Roster(ctx context.Context, who identity.Actor, id string) (RosterState, error) {
	return ask[RosterState](ctx, e, id, &call{Op: "roster", By: who})
}

// SetGrant implements API.
func (e *Rooms) SetGrant(ctx context.Context, who identity.Actor, id, participant string, grant *kibitz.Grant) (GrantState, error) {
	return ask[GrantState](ctx, e, id, &call{Op: "grant", By: who, ID: participant, Grant: grant})
}

// Command implements API.
func (e *Rooms) Command(ctx context.Context, who identity.Actor, id string, cmd HostCommand) error {
	_, err := ask[struct{}](ctx, e, id, &call{Op: "command", By: who, Command: cmd})
	return err
}

// Invite implements API.
func (e *Rooms) Invite(ctx context.Context, who identity.Actor, id string, req InviteRequest) (Invite, error) {
	return ask[Invite](ctx, e, id, &call{Op: "invite", By: who, Invite: req})
}

// Pass implements API.
func (e *Rooms) Pass(ctx context.Context, who identity.Actor, id, origin string) (Pass, error) {
	return ask[Pass](ctx, e, id, &call{Op: "pass", By: who, ID: origin})
}

// Invites implements API.
func (e *Rooms) Invites(ctx context.Context, who identity.Actor, id string) ([]Invited, error) {
	return ask[[]Invited](ctx, e, id, &call{Op: "invites", By: who})
}

// Withdraw implements API.
func (e *Rooms) Withdraw(ctx context.Context, who identity.Actor, id, invite string) error {
	_, err := ask[struct{}](ctx, e, id, &call{Op: "withdraw", By: who, ID: invite})
	return err
}

// Bans implements API.
func (e *Rooms) Bans(ctx context.Context, who identity.Actor, id string) ([]Ban, error) {
	return ask[[]Ban](ctx, e, id, &call{Op: "bans", By: who})
}

// GiveTo implements API.
func (e *Rooms) GiveTo(ctx context.Context, who identity.Actor, id, person string) error {
	_, err := ask[struct{}](ctx, e, id, &call{Op: opGive, By: who, ID: person})
	return err
}

// Appoint implements API.
func (e *Rooms) Appoint(ctx context.Context, who identity.Actor, id, person string, ttl time.Duration) (Hosting, error) {
	return ask[Hosting](ctx, e, id, &call{Op: opHost, By: who, ID: person, For: ttl})
}

// Dismiss implements API.
func (e *Rooms) Dismiss(ctx context.Context, who identity.Actor, id, person string) error {
	_, err := ask[struct{}](ctx, e, id, &call{Op: opUnhost, By: who, ID: person})
	return err
}

// Hosts implements API.
func (e *Rooms) Hosts(ctx context.Context, who identity.Actor, id string) ([]Hosting, error) {
	return ask[[]Hosting](ctx, e, id, &call{Op: opHosts, By: who})
}

// Present implements API.
func (e *Rooms) Present(ctx context.Context, who identity.Actor, id string, may kibitz.Capability) error {
	_, err := ask[struct{}](ctx, e, id, &call{Op: opPresent, By: who, May: may})
	return err
}

// Bounds of one page of the trail.
const (
	auditPage = 200
	auditMost = 1000
)

// Audit implements API. It reads the trail as it is on disk, after what this hub
// has noted.
func (e *Rooms) Audit(ctx context.Context, who identity.Actor, id string, q AuditQuery) (AuditPage, error) {
	if _, err := ask[struct{}](ctx, e, id, &call{Op: "audit", By: who}); err != nil {
		return AuditPage{}, err
	}
	if q.Limit <= 0 {
		q.Limit = auditPage
	}
	q.Limit = min(q.Limit, auditMost)
	e.auditor.flush()
	page := AuditPage{Entries: []AuditEntry{}, Next: q.After}
	for {
		records, err := e.d.Trail.Query(ctx, audit.Filter{Target: id, Action: actionPrefix + q.Kind, After: page.Next, Oldest: true, Limit: auditMost})
		if err != nil {
			return page, err
		}
		for _, rec := range records {
			page.Next = rec.Seq
			entry := auditEntry(rec)
			if q.Kind != "" && entry.Kind != q.Kind || q.ID != "" && entry.ID != q.ID {
				continue
			}
			if page.Entries = append(page.Entries, entry); len(page.Entries) == q.Limit {
				return page, nil
			}
		}
		if len(records) < auditMost {
			break
		}
	}
	if len(page.Entries) == 0 && page.Next == q.After {
		return page, e.known(ctx, id)
	}
	return page, nil
}

// known tells an empty trail from a room that never was.
func (e *Rooms) known(ctx context.Context, id string) error {
	err := e.exists(ctx, id)
	if errors.Is(err, errUnknownRoom) {
		return errUnknownRoom
	}
	return err
}
