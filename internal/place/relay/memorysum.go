package relay

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/store"
)

func (l *memory) sum(tx *store.Tx, now time.Time) (out Sum, err error) {
	us, oldest := store.Micros(now), int64(0)
	l.mu.RLock()
	for _, line := range l.queues {
		some := int64(0)
		for i := range line {
			e := &line[i]
			if !e.waits(us) {
				continue
			}
			some = 1
			out.Messages++
			out.Bytes += e.size
			out.Biggest = max(out.Biggest, e.size)
			if oldest == 0 || e.num < oldest {
				oldest = e.num
			}
		}
		out.Queues += some
	}
	l.mu.RUnlock()
	if oldest > 0 {
		out.Oldest, err = createdAt(tx, oldest)
	}
	return out, err
}

func (l *memory) fullest(tx *store.Tx, limit int, which func(queue string) bool, now time.Time) ([]Status, error) {
	us := store.Micros(now)
	type span struct {
		Status
		first, last int64
	}
	var all []span
	l.mu.RLock()
	for queue, line := range l.queues {
		s := span{Status: Status{Queue: queue, Outgoing: strings.Contains(queue, "@")}}
		s.tally(line, us)
		if s.Pending+s.Leased > 0 && which(queue) {
			s.first, s.last = line[0].num, line[len(line)-1].num
			all = append(all, s)
		}
	}
	l.mu.RUnlock()
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(b.Pending, a.Pending), cmp.Compare(a.Queue, b.Queue)) })
	var out []Status
	for _, s := range all[:min(len(all), limit)] {
		var err error
		if s.Oldest, err = createdAt(tx, s.first); err != nil {
			return nil, err
		}
		if s.Newest, err = createdAt(tx, s.last); err != nil {
			return nil, err
		}
		out = append(out, s.Status)
	}
	return out, nil
}

// names has the queues of agents here.
func (l *memory) names(*store.Tx) (out []string, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for queue := range l.queues {
		if !strings.Contains(queue, "@") {
			out = append(out, queue)
		}
	}
	return out, nil
}

// remember keeps where a start begins to look.
func (l *memory) remember(ctx context.Context) error {
	l.mu.RLock()
	from := l.last
	for _, line := range l.queues {
		from = min(from, line[0].num)
	}
	l.mu.RUnlock()
	return l.db.WriteSoft(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO place_meta (name, value) VALUES ('`+since+`', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, strconv.FormatInt(from, 10))
		return err
	})
}
