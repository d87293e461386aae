package work

import (
	"context"
	"database/sql"
	"strings"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// List gives tasks, newest first. See [API].
func (w *Work) List(ctx context.Context, who identity.Actor, q viber.TaskList) (*viber.TaskListResponse, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = viber.DefaultListLimit
	}
	limit = min(limit, viber.MaxListLimit)
	where, args := []string{"1 = 1"}, []any{}
	add := func(on bool, clause string, arg any) {
		if on {
			where, args = append(where, clause), append(args, arg)
		}
	}
	add(!who.Admin(), "principal = ?", who.Person.ID)
	add(q.Status != "", "status = ?", string(q.Status))
	if q.Cursor != "" {
		cursor := cleanID(q.Cursor)
		if cursor == "" {
			return nil, &viber.Violation{Reason: viber.ReasonBadCursor, Field: "/cursor", Message: "the cursor is none of this hub's"}
		}
		add(true, "id < ?", cursor)
	}
	out := &viber.TaskListResponse{Tasks: []viber.TaskSummary{}}
	err := w.d.DB.Read(ctx, func(tx *store.Tx) error {
		out.Tasks = out.Tasks[:0]
		return tx.Each(func(row *sql.Rows) error {
			var s viber.TaskSummary
			var goal sql.RawBytes
			var started, ended int64
			err := row.Scan(&s.TaskID, &goal, &s.Status, &s.Agent, &started, &ended, &s.PendingApprovals, &s.LastSeq)
			s.Goal, s.StartedAt, s.EndedAt = string(goal), viber.At(store.Time(started)), viber.At(store.Time(ended))
			out.Tasks = append(out.Tasks, s)
			return err
		}, `SELECT id, goal, status, agent, started_at, ended_at, pending, coalesce((SELECT last_seq FROM streams WHERE name = 'task.' || work_tasks.id), 0)
			FROM work_tasks WHERE `+strings.Join(where, " AND ")+` ORDER BY id DESC LIMIT ?`, append(args, limit+1)...)
	})
	if err != nil {
		return nil, err
	}
	if len(out.Tasks) > limit {
		out.Tasks = out.Tasks[:limit]
		out.NextCursor = out.Tasks[limit-1].TaskID
	}
	return out, nil
}

// Running names tasks that have not ended, oldest first. See [API].
func (w *Work) Running(ctx context.Context, who identity.Actor) (ids []string, err error) {
	err = w.d.DB.Read(ctx, func(tx *store.Tx) error {
		ids = []string{}
		return tx.Each(store.Into(&ids), `SELECT id FROM work_tasks WHERE principal = ? AND ended_at = 0 ORDER BY id`, who.Person.ID)
	})
	return ids, err
}
