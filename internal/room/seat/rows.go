package seat

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// row is a seat as it is stored.
type row struct {
	room, agent string
	key         *kibitz.PrivateKey
	tools       []string
	by          string
	// maker is who seated it, as what outlives their page; of seats older than that, nobody.
	maker identity.Actor
	// resume is the secret of its presence, since the last number seen with it.
	resume string
	since  uint64
}

func (r *row) keyID() string { return r.key.Public().Thumbprint() }

// name is the seat's lease: no two seats ever have the same.
func (r *row) name() string { return "seat." + r.room + "." + r.keyID() }

func (s *Seats) insert(ctx context.Context, r *row) error {
	key, err := r.key.ExportPrivate()
	if err != nil {
		return err
	}
	tools, err := json.Marshal(r.tools)
	if err != nil {
		return err
	}
	maker, err := json.Marshal(r.maker)
	if err != nil {
		return err
	}
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO room_seats (room, agent, key_id, seat_key, tools, by_whom, maker, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			r.room, r.agent, r.keyID(), string(key), string(tools), r.by, string(maker), store.Micros(time.Now()))
		return err
	})
}

// remove deletes a seat, and not one that somebody has taken since.
func (s *Seats) remove(ctx context.Context, r *row) error {
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM room_seats WHERE room = ? AND agent = ? AND key_id = ?`, r.room, r.agent, r.keyID())
		return err
	})
}

// remember keeps what takes up the seat's presence again.
func (s *Seats) remember(ctx context.Context, r *row, resume string, since uint64) error {
	r.resume, r.since = resume, since
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE room_seats SET resume = ?, since = ? WHERE room = ? AND agent = ? AND key_id = ?`,
			resume, int64(since), r.room, r.agent, r.keyID())
		return err
	})
}

// rows reads all seats, or those of one room.
func (s *Seats) rows(ctx context.Context, roomID string) (out []*row, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		out = nil
		return tx.Each(func(cur *sql.Rows) error {
			r, err := scanRow(cur)
			if err == nil {
				out = append(out, r)
			}
			return err
		}, `SELECT room, agent, seat_key, tools, by_whom, maker, resume, since FROM room_seats WHERE room = ? OR ? = '' ORDER BY room, agent`, roomID, roomID)
	})
	return out, err
}

func scanRow(cur *sql.Rows) (*row, error) {
	r := &row{}
	var key, tools, maker string
	var since int64
	if err := cur.Scan(&r.room, &r.agent, &key, &tools, &r.by, &maker, &r.resume, &since); err != nil {
		return nil, err
	}
	r.since = uint64(max(since, 0))
	var err error
	if r.key, err = kibitz.ParsePrivateKey(kibitz.Raw(key)); err != nil {
		return nil, fmt.Errorf("the key of %s in %s: %w", r.agent, r.room, err)
	}
	if maker != "" {
		if err := json.Unmarshal([]byte(maker), &r.maker); err != nil {
			return nil, fmt.Errorf("who seated %s in %s: %w", r.agent, r.room, err)
		}
	}
	return r, json.Unmarshal([]byte(tools), &r.tools)
}

func (s *Seats) find(ctx context.Context, roomID, agent string) (*row, error) {
	list, err := s.rows(ctx, roomID)
	for _, r := range list {
		if r.agent == agent {
			return r, nil
		}
	}
	return nil, err
}
