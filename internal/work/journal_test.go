package work_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// Snapshots once read only one of the places where events are: with many tasks at
// once, whose text goes through the log's journal, they and whoever took a task over
// missed it.
func TestTextThatIsStillInTheJournalIsInTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		h := newHub(t, db, withLimits(work.Limits{SubmitBurst: 100, RunningPerPrincipal: 100}))
		gate := make(chan struct{})
		h.models.play = func(ctx context.Context, _ model.Request, yield func(model.Event, error) bool) bool {
			<-gate
			yield(model.Event{Kind: model.Text, Text: "hello"}, nil)
			<-ctx.Done()
			return true
		}
		var runs []*run
		// Two transactions take all of it: one of them has more than 16.
		for range 34 {
			runs = append(runs, h.submit(goal("greet")))
		}
		synctest.Wait()
		// While somebody else writes, the text of all tasks comes together.
		held, release := make(chan struct{}), make(chan struct{})
		go func() {
			_ = db.Write(ctx, func(*store.Tx) error {
				close(held)
				<-release
				return nil
			})
		}()
		<-held
		close(gate)
		<-time.After(time.Second) // all of them have handed it over
		synctest.Wait()
		close(release)
		for _, r := range runs {
			untilType[*viber.TaskDelta](r)
			if snap, err := h.Snapshot(ctx, alice, r.id); err != nil || snap.Text != "hello" {
				t.Errorf("%+v %v; want no error, snap.Text to be \"hello\"", snap, err)
			}
		}
		var rows int
		if err := db.Read(ctx, func(tx *store.Tx) error { return tx.QueryRow(`SELECT count(*) FROM event_journal`).Scan(&rows) }); err != nil || rows == 0 {
			t.Errorf("%d rows in the journal, %v", rows, err)
		}
	})
}
