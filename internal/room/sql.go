package room

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/files"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// record is a room as the store has it.
type record struct {
	id, title, owner string
	key              *kibitz.PrivateKey
	version          int64
	policy           *kibitz.Policy
	signer           string
	signedVer        float64
	locked, lobby    bool
	shared           bool
	publishers       map[string]bool
	seq, rev         uint64
	presences        []stored
	bans             map[string]Ban
	known            map[string]bool
	hosts            map[string]Hosting
	invites          map[string]Invited
}

// stored is a presence with the hash of its secret.
type stored struct {
	presence
	resume string
	leftAt time.Time
}

func leaseName(id string) string { return "room." + id }

// hashOf is how secrets are kept.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const selectRoom = `SELECT id, title, owner, room_key, version, policy, signer, signed_ver, locked, lobby, shared, publishers, seq, rev FROM rooms`

func scanRoom(scan func(...any) error) (*record, error) {
	var rec record
	var key, policy, publishers string
	var locked, lobby, shared, seq, rev int64
	if err := scan(&rec.id, &rec.title, &rec.owner, &key, &rec.version, &policy, &rec.signer, &rec.signedVer, &locked, &lobby, &shared, &publishers, &seq, &rev); err != nil {
		return nil, err
	}
	rec.locked, rec.lobby, rec.shared, rec.seq, rec.rev = locked != 0, lobby != 0, shared != 0, uint64(seq), uint64(rev)
	var err error
	if rec.key, err = kibitz.ParsePrivateKey(kibitz.Raw(key)); err != nil {
		return nil, err
	}
	if rec.policy, err = kibitz.ReadPolicy(kibitz.Raw(policy)); err != nil {
		return nil, err
	}
	return &rec, json.Unmarshal([]byte(publishers), &rec.publishers)
}

// readRoom gives a room without those in it; errUnknownRoom if there is none.
func readRoom(tx *store.Tx, id string) (*record, error) {
	rec, err := scanRoom(tx.QueryRow(selectRoom+` WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errUnknownRoom
	}
	return rec, err
}

// loadRoom gives a room with everything the store knows.
func (e *Rooms) loadRoom(ctx context.Context, id string) (rec *record, err error) {
	err = e.d.DB.Read(ctx, func(tx *store.Tx) error {
		if rec, err = readRoom(tx, id); err != nil {
			return err
		}
		if rec.hosts, err = readHosts(tx, id); err != nil {
			return err
		}
		if rec.invites, err = readInvites(tx, id); err != nil {
			return err
		}
		rec.bans, rec.known, rec.presences = map[string]Ban{}, map[string]bool{}, nil
		err := tx.Each(func(row *sql.Rows) error {
			var b Ban
			err := row.Scan(&b.ID, &b.By, &b.TS, &b.Reason)
			rec.bans[b.ID] = b
			return err
		}, `SELECT id, by_whom, at, reason FROM room_bans WHERE room = ?`, id)
		if err != nil {
			return err
		}
		err = tx.Each(func(row *sql.Rows) error {
			var mark string
			err := row.Scan(&mark)
			rec.known[mark] = true
			return err
		}, `SELECT identity FROM room_known WHERE room = ?`, id)
		if err != nil {
			return err
		}
		return tx.Each(func(row *sql.Rows) error {
			var s stored
			var state string
			var left int64
			if err := row.Scan(&s.resume, &state, &left); err != nil {
				return err
			}
			if left > 0 {
				s.leftAt = store.Time(left)
			}
			rec.presences = append(rec.presences, s)
			return json.Unmarshal([]byte(state), &rec.presences[len(rec.presences)-1].presence)
		}, `SELECT resume, state, left_at FROM room_presences WHERE room = ? ORDER BY id`, id)
	})
	return rec, err
}

// write runs fn fenced by the room's lease, with entries for the trail. When it
// returns nil everything is on disk.
func (r *room) write(fn func(tx *store.Tx) error, entries ...audit.Entry) error {
	ctx, cancel := context.WithTimeout(r.e.ctx, writeTime)
	defer cancel()
	err := r.e.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := r.lease.Check(tx); err != nil {
			return err
		}
		if fn != nil {
			if err := fn(tx); err != nil {
				return err
			}
		}
		if len(entries) == 0 {
			return nil
		}
		return r.e.d.Trail.AppendTx(tx, entries...)
	})
	if err == nil && len(entries) > 0 {
		r.e.auditor.poke(r)
	}
	if err != nil {
		if _, refused := errors.AsType[*kibitz.Refusal](err); !refused {
			r.e.d.Log.Warn("a room cannot be written", "room", r.id, "error", err)
		}
	}
	return err
}

// writeTime bounds one write; a store that takes longer is as good as away.
const writeTime = 10 * time.Second

// save keeps a presence.
func (r *room) save(tx *store.Tx, p *participant) error {
	state, err := json.Marshal(&p.presence)
	if err != nil {
		return err
	}
	var left int64
	if p.left {
		left = store.Micros(p.broke)
	}
	_, err = tx.Exec(`INSERT INTO room_presences (room, id, resume, state, left_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (room, id) DO UPDATE SET resume = excluded.resume, state = excluded.state, left_at = excluded.left_at`,
		r.id, p.ID, p.resume, string(state), left)
	return err
}

func (r *room) erase(tx *store.Tx, id string) error {
	if _, err := tx.Exec(`DELETE FROM room_presences WHERE room = ? AND id = ?`, r.id, id); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM room_credits WHERE room = ? AND participant = ?`, r.id, id)
	return err
}

// saveState keeps what is the room's own.
func (r *room) saveState(tx *store.Tx) error {
	publishers, err := json.Marshal(r.appointed)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE rooms SET locked = ?, lobby = ?, shared = ?, publishers = ?, rev = ? WHERE id = ?`,
		store.Bool(r.locked), store.Bool(r.lobby), store.Bool(r.shared), string(publishers), int64(r.rev), r.id)
	return err
}

// claimCredit makes a credit's subject this participant's in the whole cluster.
func claimCredit(tx *store.Tx, sub, room, participant string, exp, now time.Time) error {
	// A row nobody renewed belongs to a presence that was reaped or died.
	dead := store.Micros(now.Add(-kibitz.CreditReapLeeway))
	if _, err := tx.Exec(`DELETE FROM room_credits WHERE expires_at <= ?`, dead); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO room_credits (sub, room, participant, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT (sub) DO NOTHING`,
		sub, room, participant, store.Micros(exp))
	if err != nil {
		return err
	}
	n, err := tx.Exec(`UPDATE room_credits SET expires_at = ? WHERE sub = ? AND room = ? AND participant = ?`, store.Micros(exp), sub, room, participant)
	if err == nil && n == 0 {
		return kibitz.CreditRefusal("in use")
	}
	return err
}

// know remembers that an identity was let in once.
func (r *room) know(tx *store.Tx, marks []string) error {
	for _, m := range marks {
		if _, err := tx.Exec(`INSERT INTO room_known (room, identity) VALUES (?, ?) ON CONFLICT (room, identity) DO NOTHING`, r.id, m); err != nil {
			return err
		}
	}
	return nil
}

func deleteRoom(tx *store.Tx, id string) error {
	for _, table := range []string{"room_policies", "room_bans", "room_presences", "room_known", "room_credits", "room_hosts", "room_invites"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE room = ?`, id); err != nil {
			return err
		}
	}
	if err := files.ReleaseTx(tx, files.Room(id)); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM rooms WHERE id = ?`, id)
	return err
}
