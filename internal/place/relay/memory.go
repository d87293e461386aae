package relay

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"parley.internal/internal/store"
)

// memory is the ledger of a hub that has a SQLite file of its own. Everything that
// waits is in it, about a hundred bytes each, so that a turn asks the database nothing
// to decide, and the table needs no index of queues. It learns of a turn when the turn
// is committed: what fails leaves no trace here.
type memory struct {
	db *store.DB

	mu     sync.RWMutex
	queues map[string][]entry // in order of their numbers
	// ids are of messages whose numbers do not follow from their ids.
	ids map[string]int64
	// earliest is when the first message expires, or before.
	earliest int64
	// last is the greatest number that was committed.
	last int64

	// recent are messages as they came, for most are fetched soon; held are their bytes.
	recent map[int64]*Message
	held   int64

	// Of the turn that is under way:
	fresh map[string][]entry
	new   []*Message
	gone  map[int64]string // the queue each was in
	lease map[int64]lending
}

type lending struct {
	queue string
	until int64
}

// since names, in place_meta, a number that no waiting message is below: a start need
// not look at the fates of a whole day.
const since = "waiting_since"

const loadRows = `SELECT num, id, recipient, sender, size, expires_at, leased_until FROM place_messages WHERE num >= ? AND state = 0 ORDER BY num`

func (l *memory) open(ctx context.Context) (last int64, err error) {
	l.queues, l.ids, l.recent = map[string][]entry{}, map[string]int64{}, map[int64]*Message{}
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		from, err := l.from(tx)
		if err != nil {
			return err
		}
		if err := tx.Each(l.loadRow, loadRows, from); err != nil {
			return err
		}
		err = tx.QueryRow(`SELECT COALESCE(max(num), 0) FROM place_messages`).Scan(&l.last)
		l.last = max(l.last, from) // also when the clock was set back
		return err
	})
	return l.last, err
}

func (l *memory) from(tx *store.Tx) (num int64, err error) {
	var text string
	err = tx.QueryRow(`SELECT value FROM place_meta WHERE name = '` + since + `'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err == nil {
		num, err = strconv.ParseInt(text, 10, 64)
	}
	return num, err
}

func (l *memory) loadRow(r *sql.Rows) error {
	var e entry
	var id, queue string
	if err := r.Scan(&e.num, &id, &queue, &e.sender, &e.size, &e.expires, &e.leased); err != nil {
		return err
	}
	if numOf(id) != e.num {
		l.ids[id] = e.num
	}
	l.add(queue, e)
	return nil
}

// add puts an entry at the end of its queue.
func (l *memory) add(queue string, e entry) {
	line := l.queues[queue]
	if len(line) > 0 && line[len(line)-1].sender == e.sender {
		e.sender = line[len(line)-1].sender // one copy is enough
	}
	l.queues[queue] = append(line, e)
	if l.earliest == 0 || e.expires < l.earliest {
		l.earliest = e.expires
	}
}

func (l *memory) begin(*turn, []string) error {
	l.fresh, l.new, l.gone, l.lease = map[string][]entry{}, nil, map[int64]string{}, map[int64]lending{}
	return nil
}

func (l *memory) came(m *Message) {
	l.fresh[m.Recipient] = append(l.fresh[m.Recipient], entry{num: m.Num, expires: store.Micros(m.Expires), sender: m.Sender, size: m.Size})
	l.new = append(l.new, m)
}

func (l *memory) went(m *Message) { l.gone[m.Num] = m.Recipient }

func (l *memory) lend(queue string, nums []any, until time.Time) {
	for _, num := range nums {
		l.lease[num.(int64)] = lending{queue, store.Micros(until)}
	}
}

func (l *memory) end(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.new {
		l.hold(m)
	}
	for num, queue := range l.gone {
		l.letGo(num)
		l.remove(queue, num)
	}
	for num, to := range l.lease {
		l.letGo(num) // its row says more now
		if line := l.queues[to.queue]; len(line) > 0 {
			if i, ok := find(line, num); ok {
				line[i].leased = to.until
			}
		}
	}
	for queue, line := range l.fresh {
		for _, e := range line {
			if _, gone := l.gone[e.num]; !gone {
				l.add(queue, e)
			}
		}
	}
	l.last = max(l.last, t.r.last)
}

// mostHeld is how many bytes of messages are kept here besides their rows.
const mostHeld = 32 << 20

func (l *memory) hold(m *Message) {
	if l.held += m.Size; l.held > mostHeld {
		clear(l.recent)
		l.held = m.Size
	}
	l.recent[m.Num] = m
}

func (l *memory) letGo(num int64) {
	if m, ok := l.recent[num]; ok {
		l.held -= m.Size
		delete(l.recent, num)
	}
}

func (l *memory) remove(queue string, num int64) {
	line := l.queues[queue]
	i, ok := find(line, num)
	switch {
	case !ok:
	case len(line) == 1:
		delete(l.queues, queue)
	case i == 0:
		l.queues[queue] = line[1:]
	default:
		l.queues[queue] = slices.Delete(line, i, i+1)
	}
	if len(l.ids) > 0 && num < firstClocked {
		for id, of := range l.ids {
			if of == num {
				delete(l.ids, id)
			}
		}
	}
}

func find(line []entry, num int64) (int, bool) {
	return slices.BinarySearchFunc(line, num, func(e entry, num int64) int { return cmp.Compare(e.num, num) })
}
