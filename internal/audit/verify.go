package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"fmt"

	"parley.internal/internal/store"
)

// Report is what a walk along the chain found.
type Report struct {
	// OK is true when everything holds.
	OK bool `json:"ok"`
	// Entries and Checkpoints were checked and found good.
	Entries     int64 `json:"entries"`
	Checkpoints int64 `json:"checkpoints"`
	// LastSigned is the last entry a good checkpoint covers. Nobody can tell
	// whether entries after it were cut off.
	LastSigned int64 `json:"last_signed"`
	Head       Hash  `json:"head"`
	// BadSeq is the first entry that is not as it was written; Problem says how.
	BadSeq  int64  `json:"bad_seq,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Comparison is with checkpoints kept outside. A trail with a cut is never OK;
	// Acknowledged tells that a person said of every cut that it is known.
	Comparison
	Acknowledged bool `json:"acknowledged,omitempty"`
}

// fault stops a walk.
type fault struct {
	seq     int64
	problem string
}

func (f *fault) Error() string { return fmt.Sprintf("entry %d: %s", f.seq, f.problem) }

// walk checks a chain entry by entry in constant memory.
type walk struct {
	seq     int64
	hash    Hash
	trusted []ed25519.PublicKey
	kept    []Kept
	side    *side
	report  Report
}

func newWalk(trusted []ed25519.PublicKey, kept []Kept) *walk {
	return &walk{trusted: trusted, kept: kept, side: newSide(kept)}
}

// entry checks the next one.
func (w *walk) entry(s stored) error {
	want := w.seq + 1
	if s.Seq != want {
		return &fault{min(want, s.Seq), fmt.Sprintf("entry %d is missing or out of order", want)}
	}
	hash, err := s.check(w.hash)
	if err != nil {
		return err
	}
	w.seq, w.hash = s.Seq, hash
	w.report.Entries++
	if _, asked := w.side.hashes[s.Seq]; asked {
		w.side.hashes[s.Seq] = hash
	}
	w.side.hear(s)
	return nil
}

// check recomputes the link and compares everything that is stored.
func (s stored) check(prev Hash) (Hash, error) {
	detail, err := canonicalRaw(s.Detail)
	if err != nil || !bytes.Equal(detail, s.Detail) {
		return Hash{}, &fault{s.Seq, "its detail was changed"}
	}
	if !bytes.Equal(s.prev, prev[:]) {
		return Hash{}, &fault{s.Seq, "it does not follow the entry before it"}
	}
	hash, err := s.link(prev)
	if err != nil || !bytes.Equal(s.hash, hash[:]) {
		return Hash{}, &fault{s.Seq, "its content does not match its hash"}
	}
	return hash, nil
}

func canonicalRaw(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, ErrInvalid
	}
	return canonicalJSON(raw)
}

// checkpoint checks a signature over the entry just walked.
func (w *walk) checkpoint(cp Checkpoint) error {
	switch {
	case cp.Seq > w.seq:
		return &fault{w.seq + 1, fmt.Sprintf("the trail ends at %d, but a checkpoint signs entry %d", w.seq, cp.Seq)}
	case cp.Seq != w.seq || cp.Seq < 1:
		return &fault{cp.Seq, "a checkpoint is out of order"}
	case !cp.Valid(keysFor(w.trusted, cp)...):
		return &fault{cp.Seq, "a checkpoint's signature is wrong or by an unknown key"}
	case cp.Hash != w.hash:
		return &fault{cp.Seq, "the chain does not match its checkpoint"}
	}
	w.report.Checkpoints++
	w.report.LastSigned = cp.Seq
	return nil
}

// keysFor falls back to the checkpoint's own key when nobody said whom to
// trust; then a signature proves consistency, not origin.
func keysFor(trusted []ed25519.PublicKey, cp Checkpoint) []ed25519.PublicKey {
	if len(trusted) == 0 {
		return []ed25519.PublicKey{cp.PublicKey}
	}
	return trusted
}

// done closes the report. Only a chain that holds is compared: what comes after a
// fault is not known.
func (w *walk) done(err error) (Report, error) {
	w.report.Head = w.hash
	if f, ok := err.(*fault); ok { //nolint:errorlint // made here, never wrapped
		w.report.BadSeq, w.report.Problem = f.seq, f.problem
		return w.report, nil
	}
	if err != nil {
		return w.report, err
	}
	w.side.end = w.seq
	w.report.judge(w.side.compare(w.trusted, w.kept))
	return w.report, nil
}

// judge says what a comparison means for a chain that holds in itself.
func (r *Report) judge(c Comparison) {
	r.Comparison = c
	if r.OK = len(c.Cuts) == 0; r.OK {
		return
	}
	worst := c.Cuts[0]
	if open := c.open(); len(open) > 0 {
		worst = open[0]
	}
	r.Acknowledged = worst.Acknowledged != nil
	r.BadSeq, r.Problem = worst.After+1, worst.String()
}

// pageSize is how many entries are in memory at once.
const pageSize = 1000

// Verify walks the whole chain as it was when the call began and reports the
// first thing that is wrong. Checkpoints kept elsewhere find what was cut off
// together with the checkpoints in the database.
func (l *Chain) Verify(ctx context.Context, kept ...Kept) (Report, error) {
	w := newWalk(l.trusted(), kept)
	return w.done(l.walkAll(ctx, w, nil, nil))
}

// walkAll feeds the stored chain to w, and shows each thing once it is checked.
func (l *Chain) walkAll(ctx context.Context, w *walk, entry func(stored) error, checkpoint func(Checkpoint) error) error {
	e, err := l.extent(ctx)
	if err != nil {
		return err
	}
	if lowest := min(e.first, e.firstSigned); lowest < 1 {
		return &fault{lowest, "something stands before the first entry"}
	}
	for w.seq < e.head.seq {
		if err := l.walkPage(ctx, w, e.head.seq, entry, checkpoint); err != nil {
			return err
		}
	}
	switch {
	case w.hash != e.head.hash:
		return &fault{max(w.seq, 1), "the recorded end of the chain is another"}
	case e.last > e.head.seq:
		return &fault{e.head.seq + 1, fmt.Sprintf("the recorded end is %d, but there are entries up to %d", e.head.seq, e.last)}
	case e.lastSigned > e.head.seq:
		return &fault{e.head.seq + 1, fmt.Sprintf("the trail ends at %d, but a checkpoint signs entry %d", e.head.seq, e.lastSigned)}
	}
	return nil
}

// extent is where the tables begin and end, seen in one snapshot.
type extent struct {
	head                    head
	first, last             int64
	firstSigned, lastSigned int64
}

func (l *Chain) extent(ctx context.Context) (e extent, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		if e.head, err = readHead(tx); err != nil {
			return err
		}
		if err := tx.QueryRow(`SELECT coalesce(min(seq), 1), coalesce(max(seq), 0) FROM audit_entries`).Scan(&e.first, &e.last); err != nil {
			return err
		}
		return tx.QueryRow(`SELECT coalesce(min(seq), 1), coalesce(max(seq), 0) FROM audit_checkpoints`).Scan(&e.firstSigned, &e.lastSigned)
	})
	return e, err
}

func (l *Chain) walkPage(ctx context.Context, w *walk, end int64, entry func(stored) error, checkpoint func(Checkpoint) error) error {
	rows, signed, err := l.page(ctx, w.seq, end)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return &fault{w.seq + 1, fmt.Sprintf("entry %d and all after it are missing", w.seq+1)}
	}
	for _, s := range rows {
		if err := w.entry(s); err != nil {
			return err
		}
		if entry != nil {
			if err := entry(s); err != nil {
				return err
			}
		}
		if cp, ok := signed[s.Seq]; ok {
			if err := w.checkpoint(cp); err != nil {
				return err
			}
			if checkpoint != nil {
				if err := checkpoint(cp); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// page reads the next entries and the checkpoints among them.
func (l *Chain) page(ctx context.Context, after, end int64) (rows []stored, signed map[int64]Checkpoint, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		rows, signed = rows[:0], map[int64]Checkpoint{}
		err := tx.Each(store.IntoBy(&rows, scanStored), selectEntries+` WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, after, end, pageSize)
		if err != nil {
			return err
		}
		return tx.Each(func(row *sql.Rows) error {
			cp, err := scanCheckpoint(row)
			signed[cp.Seq] = cp
			return err
		}, selectCheckpoint+` WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, after, after+pageSize, pageSize)
	})
	return rows, signed, err
}
