package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley.internal/internal/store"
)

// digestLife is how long a note about rules stays, digestLines how many it names.
const (
	digestLife  = 7 * 24 * time.Hour
	digestLines = 20
)

// digest leaves each person whose standing rules answered something on the day before a
// note that says what. The note is the day's own, so that every hub may try.
func (in *Inbox) digest(ctx context.Context, now time.Time) error {
	today := now.UTC().Truncate(24 * time.Hour)
	if in.opts.Rules == nil || !today.After(in.digested) {
		return nil
	}
	day := today.AddDate(0, 0, -1)
	counts, err := in.ruledOn(ctx, day)
	for _, person := range counts.people {
		if err == nil {
			err = in.leaveDigest(ctx, person, day, counts.lines[person], counts.total[person])
		}
	}
	if err == nil {
		in.digested = today
	}
	return err
}

// ruled is what rules answered on a day, by person.
type ruled struct {
	people []string
	lines  map[string][]string
	total  map[string]int
}

func (in *Inbox) ruledOn(ctx context.Context, day time.Time) (ruled, error) {
	var out ruled
	err := in.db.Read(ctx, func(tx *store.Tx) error {
		out = ruled{lines: map[string][]string{}, total: map[string]int{}}
		rows, err := tx.Query(`SELECT principal, resolve_reason, count(*) FROM approvals WHERE resolved_at >= ? AND resolved_at < ? AND resolved_by LIKE ?
			GROUP BY principal, resolved_by, resolve_reason ORDER BY principal, count(*) DESC, resolve_reason`,
			store.Micros(day), store.Micros(day.AddDate(0, 0, 1)), byRule+"%")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var person, words string
			var n int
			if err := rows.Scan(&person, &words, &n); err != nil {
				return err
			}
			if out.total[person] == 0 {
				out.people = append(out.people, person)
			}
			out.total[person] += n
			out.lines[person] = append(out.lines[person], fmt.Sprintf("%d × %s", n, words))
		}
		return rows.Err()
	})
	return out, err
}

func (in *Inbox) leaveDigest(ctx context.Context, person string, day time.Time, lines []string, total int) error {
	if more := len(lines) - digestLines; more > 0 {
		lines = append(lines[:digestLines], fmt.Sprintf("and by %d more rules", more))
	}
	questions := "questions"
	if total == 1 {
		questions = "question"
	}
	_, err := in.Ask(ctx, Request{
		ID: "rules:" + person + ":" + day.Format(time.DateOnly), Principal: person, Kind: KindNote, RequestedBy: "hub", Timeout: digestLife,
		Title: fmt.Sprintf("Your rules answered %d %s on %s", total, questions, day.Format(time.DateOnly)), Reason: strings.Join(lines, "\n"),
	})
	if errors.Is(err, ErrInvalid) { // it is there already
		return nil
	}
	return err
}
