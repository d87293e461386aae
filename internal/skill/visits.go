package skill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// Guard is checked in the transaction that writes about a visit; a lease is one.
type Guard interface {
	Check(tx *store.Tx) error
}

const visitColumns = `v.id, v.agent, v.agent_id, v.url, v.place, v.name, v.keep, v.insecure, v.started_at, v.until_at, v.interactions, v.most, v.warning, v.problem, v.ending, v.peer, v.deposit,
	COALESCE(p.place_key, '')`

const visitRows = ` FROM skill_visits v LEFT JOIN skill_places p ON p.url = v.url `

func scanVisit(row store.Row) (Visit, error) {
	var v Visit
	var keep, insecure, started, until, deposit int64
	err := row.Scan(&v.ID, &v.Agent, &v.AgentID, &v.URL, &v.Place, &v.Name, &keep, &insecure, &started, &until, &v.Interactions, &v.Limit, &v.Warning, &v.Problem,
		&v.ending, &v.Peer, &deposit, &v.PlaceKey)
	if errors.Is(err, sql.ErrNoRows) {
		return v, ErrNotFound
	}
	v.Keep, v.Insecure, v.Deposit, v.Started, v.Until = keep == 1, insecure == 1, deposit == 1, store.Time(started), store.Time(until)
	return v, err
}

func visitByID(tx *store.Tx, id string) (Visit, error) {
	return scanVisit(tx.QueryRow(`SELECT `+visitColumns+visitRows+`WHERE v.id = ?`, id))
}

// BeginVisit writes a visit down; it counts until EndedVisit, whatever happens to
// the hub. One of the same agent at the same place begins anew.
func (s *Skills) BeginVisit(ctx context.Context, by string, v Visit, length time.Duration) (Visit, error) {
	v.ID, v.Limit, v.Started, v.Interactions = v.Agent+"@"+v.Place, VisitLimit, s.now(), 0
	v.Until = v.Started.Add(length)
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		var others int
		if err := tx.QueryRow(`SELECT count(*) FROM skill_visits WHERE id <> ?`, v.ID).Scan(&others); err != nil {
			return err
		}
		if others >= MaxVisits {
			return fmt.Errorf("%w: %d visits go on already", ErrInvalid, MaxVisits)
		}
		_, err := tx.Exec(`INSERT INTO skill_visits (id, agent, agent_id, url, place, name, keep, insecure, started_at, until_at, interactions, most, warning, problem, ending, peer, deposit)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, '', '', '', ?, ?)
			ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, url = excluded.url, name = excluded.name, keep = excluded.keep, deposit = excluded.deposit, insecure = excluded.insecure,
			started_at = excluded.started_at, until_at = excluded.until_at, interactions = 0, most = excluded.most, warning = '', problem = '', ending = ''`,
			v.ID, v.Agent, v.AgentID, v.URL, v.Place, fit.Storable(fit.Clip(v.Name, 200)), store.Bool(v.Keep), store.Bool(v.Insecure), store.Micros(v.Started), store.Micros(v.Until), v.Limit, v.Peer, store.Bool(v.Deposit))
		if err != nil {
			return err
		}
		return s.d.Trail.AppendTx(tx, audit.Entry{Actor: by, Action: audit.VisitBegan, Target: v.ID, Detail: map[string]any{"url": v.URL, "minutes": int(length.Minutes())}})
	})
	return v, err
}

// Visits lists those that go on, on whatever hub, of the agents the actor may speak as.
func (a Acting) Visits(ctx context.Context) ([]Visit, error) {
	out := []Visit{}
	mine, err := a.reach(ctx)
	if err != nil {
		return nil, err
	}
	agents, args := mine.Where("v.agent")
	err = a.s.d.DB.Read(ctx, func(tx *store.Tx) error {
		out = out[:0]
		return tx.Each(store.IntoBy(&out, scanVisit), `SELECT `+visitColumns+visitRows+`WHERE `+agents+` ORDER BY v.started_at, v.id`, args...)
	})
	return out, err
}

// Interacted counts a message in or out, says how the visit stands, and warns
// people once when its end is near.
func (s *Skills) Interacted(ctx context.Context, g Guard, id string, n int) (v Visit, err error) {
	warned := false
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		warned = false
		if err := g.Check(tx); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE skill_visits SET interactions = interactions + ? WHERE id = ?`, n, id); err != nil {
			return err
		}
		if v, err = visitByID(tx, id); err != nil {
			return err
		}
		why := v.Near(s.now())
		if why == "" || v.Warning != "" {
			return nil
		}
		v.Warning, warned = why, true
		if _, err := tx.Exec(`UPDATE skill_visits SET warning = ? WHERE id = ?`, why, id); err != nil {
			return err
		}
		return s.d.Trail.AppendTx(tx, audit.Entry{Actor: "agent:" + v.Agent, Action: audit.VisitWarned, Target: id, Detail: map[string]any{"why": why}})
	})
	if err == nil && warned {
		s.tell(ctx, v)
	}
	return v, err
}

// tell shows the warning in the inbox; nobody has to answer it.
func (s *Skills) tell(ctx context.Context, v Visit) {
	err := s.question(ctx, v.Agent, approval.Request{
		ID: questionID("visit", v.ID, fmt.Sprint(v.Started.UnixMicro())), Kind: approval.KindNote, Title: "The visit of " + v.Agent + " to " + visible.Line(v.Name) + " ends soon",
		Reason: v.Warning, Target: v.URL, RequestedBy: "agent:" + v.Agent, Timeout: max(v.Until.Sub(s.now()), time.Minute),
	})
	if err != nil && ctx.Err() == nil {
		s.d.Log.Warn("skills: warning about a visit", "error", err)
	}
}

// AskEnd lets a visit end, on whatever hub it is.
func (a Acting) AskEnd(ctx context.Context, id string) error {
	mine, err := a.reach(ctx)
	if err != nil {
		return err
	}
	agents, args := mine.Where("agent")
	return a.s.d.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`UPDATE skill_visits SET ending = ? WHERE id = ? AND `+agents, append([]any{meeting.GoodbyeUserRequest, id}, args...)...)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
}

// EndedVisit strikes a visit off.
func (s *Skills) EndedVisit(ctx context.Context, g Guard, v Visit, reason string) error {
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := g.Check(tx); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM skill_visits WHERE id = ? AND started_at = ?`, v.ID, store.Micros(v.Started))
		if err != nil || n == 0 {
			return err
		}
		return s.d.Trail.AppendTx(tx, audit.Entry{
			Actor: "agent:" + v.Agent, Action: audit.VisitEnded, Target: v.ID, Detail: map[string]any{"reason": reason, "interactions": v.Interactions},
		})
	})
	if _, cancel := s.d.Inbox.Cancel(ctx, questionID("visit", v.ID, fmt.Sprint(v.Started.UnixMicro())), "the visit is over"); cancel != nil {
		return err // nobody was warned, or somebody has looked
	}
	return err
}

// PlaceChange is another key at an address than the one it was first visited with.
type PlaceChange struct{ URL, Pinned, Now string }

// Error names both.
func (c *PlaceChange) Error() string {
	return fmt.Sprintf("the place at %s shows another key (%s) than it had (%s): nothing is sent there until a person accepted it in the inbox", c.URL, c.Now, c.Pinned)
}

// Is makes it an ErrPlaceChanged.
func (c *PlaceChange) Is(target error) bool { return target == ErrPlaceChanged }

// CheckPlace holds the place at an address to the key it had first. Another one is
// an alarm: it stops every visit there, and a person is asked.
func (s *Skills) CheckPlace(ctx context.Context, url, place, key string) error {
	var change *PlaceChange
	fresh := false
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		change, fresh = nil, false
		var pinned, pinnedKey, changed, changedKey string
		err := tx.QueryRow(`SELECT place, place_key, changed, changed_key FROM skill_places WHERE url = ?`+tx.ForUpdate(), url).Scan(&pinned, &pinnedKey, &changed, &changedKey)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err := tx.Exec(`INSERT INTO skill_places (url, place, place_key, changed, changed_key, seen_at) VALUES (?, ?, ?, '', '', ?) ON CONFLICT (url) DO NOTHING`,
				url, place, key, store.Micros(s.now()))
			return err
		case err != nil:
			return err
		case pinned == place && pinnedKey == key:
			return nil
		}
		change = &PlaceChange{URL: url, Pinned: firstText(pinnedKey, pinned), Now: firstText(key, place, "none")}
		if changed == place && changedKey == key {
			return nil
		}
		fresh = true
		return s.alarm(tx, *change, place, key)
	})
	if err != nil {
		return err
	}
	if change == nil {
		return nil
	}
	if fresh {
		s.askPlace(ctx, *change, place, key)
	}
	return change
}

// alarm stops what goes on at the address.
func (s *Skills) alarm(tx *store.Tx, c PlaceChange, place, key string) error {
	if _, err := tx.Exec(`UPDATE skill_places SET changed = ?, changed_key = ? WHERE url = ?`, place, key, c.URL); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE skill_visits SET problem = ? WHERE url = ?`, c.Error(), c.URL); err != nil {
		return err
	}
	return s.d.Trail.AppendTx(tx, audit.Entry{
		Actor: "hub", Action: audit.VisitPlaceChanged, Target: c.URL, Outcome: "refused", Detail: map[string]any{"pinned": c.Pinned, "now": c.Now},
	})
}

func (s *Skills) askPlace(ctx context.Context, c PlaceChange, place, key string) {
	args, err := mmp.Encode(map[string]string{"url": c.URL, "pinned": c.Pinned, "now": c.Now})
	question := questionID("place", c.URL, place, key)
	if err == nil {
		err = s.question(ctx, "", approval.Request{
			ID: question, Kind: approval.KindNote, Title: "The place at " + c.URL + " has another key", Arguments: args, Target: c.URL, RequestedBy: "hub",
			Reason: "another place may answer at this address; ask its operator before you accept the new key", Timeout: 7 * day,
		})
	}
	if err != nil {
		s.d.Log.Warn("skills: asking about a place", "error", err)
		return
	}
	s.await(question, func(ctx context.Context, o approval.Outcome) error {
		if !o.Approved() {
			return nil
		}
		return s.acceptPlace(ctx, firstText(o.By, "hub"), c.URL, place, key)
	})
}

// acceptPlace pins another key. Visits of the place that was there before are over:
// this is another one.
func (s *Skills) acceptPlace(ctx context.Context, by, url, place, key string) error {
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`UPDATE skill_places SET place = ?, place_key = ?, changed = '', changed_key = '', seen_at = ? WHERE url = ? AND changed = ? AND changed_key = ?`,
			place, key, store.Micros(s.now()), url, place, key)
		if err != nil || n == 0 {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM skill_visits WHERE url = ? AND place <> ?`, url, place); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE skill_visits SET problem = '' WHERE url = ?`, url); err != nil {
			return err
		}
		return s.d.Trail.AppendTx(tx, audit.Entry{Actor: by, Action: audit.VisitPlaceAccepted, Target: url, Detail: map[string]any{"key": firstText(key, place)}})
	})
}

// sweepPlaces asks again about places whose key changed.
func (s *Skills) sweepPlaces(ctx context.Context) error {
	type changed struct{ url, pinned, pinnedKey, place, key string }
	var all []changed
	err := s.d.DB.Read(ctx, func(tx *store.Tx) error {
		all = all[:0]
		return tx.Each(func(row *sql.Rows) error {
			var c changed
			err := row.Scan(&c.url, &c.pinned, &c.pinnedKey, &c.place, &c.key)
			all = append(all, c)
			return err
		}, `SELECT url, place, place_key, changed, changed_key FROM skill_places WHERE changed <> '' OR changed_key <> '' LIMIT 1000`)
	})
	for _, c := range all {
		if !s.awaited(questionID("place", c.url, c.place, c.key)) {
			s.askPlace(ctx, PlaceChange{URL: c.url, Pinned: firstText(c.pinnedKey, c.pinned), Now: firstText(c.key, c.place, "none")}, c.place, c.key)
		}
	}
	return err
}

// Farewell says goodbye to everybody the agent spoke with during a visit, as far as
// there is time. What waits in the outbox goes first.
func (s *Skills) Farewell(ctx context.Context, v Visit, reason string) {
	line := s.line(v.AgentID, v.Place)
	if line == nil {
		return
	}
	s.flush(ctx)
	var peers []string
	err := s.d.DB.Read(ctx, func(tx *store.Tx) error {
		peers = peers[:0]
		return tx.Each(store.Into(&peers), `SELECT DISTINCT peer FROM skill_messages WHERE me = ? AND place = ? AND at >= ? AND level <> 'L2' ORDER BY peer LIMIT ?`,
			v.AgentID, v.Place, store.Micros(v.Started), VisitLimit)
	})
	if err != nil {
		s.d.Log.Warn("skills: saying goodbye", "error", err)
	}
	for _, peer := range peers {
		m, err := meeting.NewMessage(meeting.ActionGoodbye, v.AgentID, peer, meeting.GoodbyePayload{Reason: reason, Summary: "The visit is over"}, s.now())
		if err == nil {
			err = line.Send(ctx, peer, m)
		}
		if err != nil {
			s.d.Log.Info("skills: a goodbye was not said", "to", peer, "error", err)
		}
	}
}
