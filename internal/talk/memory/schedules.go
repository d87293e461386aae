package memory

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/fit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// ErrNoSchedule says that there is no such schedule.
var ErrNoSchedule = errors.New("no such schedule")

// Schedule is a turn that comes by itself.
type Schedule struct {
	ID int64
	// Schedule is when, in cron's form; Skill what is said, as "/SKILL".
	Schedule string
	Skill    string
	Key
	// Maker is who made it; nobody, if it is older than makers are kept.
	Maker identity.Actor
	// QuietStart and QuietEnd ("HH:MM", hub-local) are when nothing fires.
	QuietStart, QuietEnd string
	Once                 bool
	// Next is the next firing, zero if there is none; LastError why the last one
	// failed.
	Next      time.Time
	LastError string
	Created   time.Time
}

const selectSchedule = `SELECT id, schedule, skill, agent, sender, thread, quiet_start, quiet_end, once, next_at, last_error, created_at, maker FROM talk_schedules`

func scanSchedule(row store.Row) (s Schedule, err error) {
	var once, next, created int64
	var maker string
	err = row.Scan(&s.ID, &s.Schedule, &s.Skill, &s.Agent, &s.Sender, &s.Thread, &s.QuietStart, &s.QuietEnd, &once, &next, &s.LastError, &created, &maker)
	if isNoRows(err) {
		return s, ErrNoSchedule
	}
	s.Once, s.Next, s.Created = once == 1, store.Time(next), store.Time(created)
	if err == nil && maker != "" {
		err = json.Unmarshal([]byte(maker), &s.Maker)
	}
	return s, err
}

// AddSchedule stores a schedule and gives it its number.
func (m *Memory) AddSchedule(ctx context.Context, s Schedule) (Schedule, error) {
	s.Created = time.Now().UTC().Truncate(time.Microsecond)
	maker, err := json.Marshal(s.Maker)
	if err != nil {
		return s, err
	}
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`INSERT INTO talk_schedules (schedule, skill, agent, sender, thread, quiet_start, quiet_end, once, next_at, last_error, created_at, maker)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?) RETURNING id`,
			s.Schedule, s.Skill, s.Agent, s.Sender, s.Thread, s.QuietStart, s.QuietEnd, store.Bool(s.Once), store.Micros(s.Next), store.Micros(s.Created), string(maker)).Scan(&s.ID)
	})
	return s, err
}

// Schedules lists all of them, oldest first.
func (m *Memory) Schedules(ctx context.Context) (list []Schedule, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.IntoBy(&list, scanSchedule), selectSchedule+` ORDER BY id`)
	})
	return list, err
}

// GetSchedule gives one, or ErrNoSchedule.
func (m *Memory) GetSchedule(ctx context.Context, id int64) (s Schedule, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		s, err = scanSchedule(tx.QueryRow(selectSchedule+` WHERE id = ?`, id))
		return err
	})
	return s, err
}

// DeleteSchedule removes one.
func (m *Memory) DeleteSchedule(ctx context.Context, id int64) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM talk_schedules WHERE id = ?`, id)
		if err == nil && n == 0 {
			err = ErrNoSchedule
		}
		return err
	})
}

// Fired records a firing: when the next one is, or that there is none. A schedule
// that was deleted meanwhile stays deleted.
func (m *Memory) Fired(ctx context.Context, guard Guard, id int64, next time.Time, lastError string) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		if err := fenced(tx, guard); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE talk_schedules SET next_at = ?, last_error = ? WHERE id = ?`, store.Micros(next), fit.Storable(lastError), id)
		return err
	})
}
