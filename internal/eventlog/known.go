package eventlog

import (
	"errors"
	"strconv"
	"sync"

	"parley.internal/internal/store"
)

// known remembers where streams were after this log wrote to them. It is a guess:
// the database compares it with the truth in the same statement that reserves the
// next numbers, and a wrong guess only costs asking.
type known struct {
	mu    sync.Mutex
	heads map[string]knownHead
}

type knownHead struct{ id, last int64 }

// maxKnown bounds what is remembered.
const maxKnown = 1 << 14

// errStale says that something else wrote to a stream. The transaction is undone
// and run again without guesses.
var errStale = errors.New("eventlog: a stream is not where it was")

// remember notes where streams are after a commit.
func (k *known) remember(heads []head) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.heads)+len(heads) > maxKnown || k.heads == nil {
		k.heads = make(map[string]knownHead, len(heads))
	}
	for i := range heads {
		k.heads[heads[i].name] = knownHead{heads[i].id, heads[i].last}
	}
}

// forget drops what is known of streams, of all of them without a name.
func (k *known) forget(names ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(names) == 0 {
		k.heads = nil
	}
	for _, name := range names {
		delete(k.heads, name)
	}
}

// guess fills in where streams should be after this transaction. It gives those it
// knew, by how many numbers they want, and the others.
func (k *known) guess(heads []head) (sure map[int64][]*head, rest []*head) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range heads {
		h := &heads[i]
		at, ok := k.heads[h.name]
		if !ok || !plainName(h.name) {
			rest = append(rest, h)
			continue
		}
		if sure == nil {
			sure = map[int64][]*head{}
		}
		h.id, h.last = at.id, at.last+h.more
		sure[h.more] = append(sure[h.more], h)
	}
	return sure, rest
}

const bumpKnown = `UPDATE streams SET last_seq = last_seq + ? FROM json_each(?) v
	WHERE streams.id = CAST(v.key AS INTEGER) AND streams.name || ':' || streams.last_seq = v.value`

// advanceKnown reserves numbers for streams that are where they were: one statement
// for all that want as many, and nothing to read back.
func advanceKnown(tx *store.Tx, more int64, heads []*head) error {
	list := make([]byte, 1, 64*len(heads))
	list[0] = '{'
	for i, h := range heads {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(append(list, '"'), h.id, 10)
		list = append(append(append(list, '"', ':', '"'), h.name...), ':')
		list = append(strconv.AppendInt(list, h.last-more, 10), '"')
	}
	n, err := tx.Exec(bumpKnown, more, string(append(list, '}')))
	if err == nil && n != int64(len(heads)) {
		err = errStale
	}
	return err
}

const bumpOne = `UPDATE streams SET last_seq = ? WHERE id = ? AND name = ? AND last_seq = ?`

// advanceOne is advanceKnown for a stream by itself: with so few a list does not pay.
func advanceOne(tx *store.Tx, h *head) error {
	n, err := tx.Exec(bumpOne, h.last, h.id, h.name, h.last-h.more)
	if err == nil && n != 1 {
		err = errStale
	}
	return err
}

// advanceSure reserves the numbers of streams that are known.
func advanceSure(tx *store.Tx, sure map[int64][]*head) error {
	for more, list := range sure {
		if len(list) >= listFrom {
			if err := advanceKnown(tx, more, list); err != nil {
				return err
			}
			continue
		}
		for _, h := range list {
			if err := advanceOne(tx, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// reserve is advance for a turn, which mostly knows where streams are.
func (l *Log) reserve(tx *store.Tx, heads []head) error {
	if tx.Dialect() != store.SQLite {
		return advance(tx, heads)
	}
	sure, rest := l.known.guess(heads)
	if err := advanceSure(tx, sure); err != nil {
		return err
	}
	if len(rest) == 0 {
		return nil
	}
	others := make([]head, len(rest))
	for i, h := range rest {
		others[i] = *h
	}
	err := advance(tx, others)
	for i, h := range rest {
		h.id, h.last = others[i].id, others[i].last
	}
	return err
}
