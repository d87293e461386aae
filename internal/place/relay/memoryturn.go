package relay

import (
	"cmp"
	"context"
	"slices"
	"time"

	"parley.internal/internal/store"
)

// count is a bound, since some may have expired; a queue that seems full is counted.
func (l *memory) count(t *turn, queue string) (int64, error) {
	bound := len(l.queues[queue]) + len(l.fresh[queue])
	if bound < t.r.d.Limit {
		return int64(bound), nil
	}
	line, err := l.entries(t.tx, t, queue, t.now)
	return int64(len(line)), err
}

// entries is only asked for a turn by the turn itself, which alone changes anything.
func (l *memory) entries(_ *store.Tx, t *turn, queue string, now time.Time) ([]entry, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	us := store.Micros(now)
	if t == nil {
		return slices.DeleteFunc(slices.Clone(l.queues[queue]), func(e entry) bool { return !e.waits(us) }), nil
	}
	line := slices.Concat(l.queues[queue], l.fresh[queue])
	for i := range line {
		if to, ok := l.lease[line[i].num]; ok {
			line[i].leased = to.until
		}
	}
	return slices.DeleteFunc(line, func(e entry) bool {
		_, gone := l.gone[e.num]
		return gone || !e.waits(us)
	}), nil
}

// front does not see what this turn sends: receivers come first.
func (l *memory) front(t *turn, queue string, limit int) (found []*Message, more bool, err error) {
	us := store.Micros(t.now)
	var nums []any
	for _, e := range l.queues[queue] {
		_, gone := l.gone[e.num]
		if to, ok := l.lease[e.num]; ok {
			e.leased = to.until
		}
		if gone || !e.free(us) {
			continue
		}
		if more = len(nums) == limit; more {
			break
		}
		nums = append(nums, e.num)
	}
	for _, num := range nums {
		if m, ok := l.recent[num.(int64)]; ok {
			mine := *m
			found = append(found, &mine)
		}
	}
	if len(found) < len(nums) {
		found, err = byNumber(t.tx, true, nums)
	}
	return found, more, err
}

func (l *memory) lent(t *turn, queue, id string) (*Message, error) {
	num, ok := l.ids[id]
	if !ok {
		num = numOf(id)
	}
	if _, here := find(l.queues[queue], num); !here {
		return nil, nil
	}
	found, err := byNumber(t.tx, false, []any{num})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func (l *memory) expired(t *turn, limit int) ([]*Message, error) {
	found, err := byNumber(t.tx, false, l.past(store.Micros(t.now), limit))
	return slices.DeleteFunc(found, func(m *Message) bool { return m.State != Queued }), err
}

func (l *memory) overdue(_ context.Context, now time.Time) (bool, error) {
	return len(l.past(store.Micros(now), 1)) > 0, nil
}

// past are the numbers of what has expired. It also finds out when to look next.
func (l *memory) past(now int64, limit int) (nums []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.earliest == 0 || l.earliest > now {
		return nil
	}
	next := int64(0)
	for _, line := range l.queues {
		for i := range line {
			switch e := &line[i]; {
			case e.waits(now):
				if next == 0 || e.expires < next {
					next = e.expires
				}
			case len(nums) < limit:
				nums = append(nums, e.num)
			}
		}
	}
	if len(nums) == 0 {
		l.earliest = next
	}
	slices.SortFunc(nums, func(a, b any) int { return cmp.Compare(a.(int64), b.(int64)) })
	return nums
}
