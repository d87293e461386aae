package audit

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley.internal/internal/store"
)

// Cut says that entries are gone, or others, which a checkpoint kept elsewhere signs.
type Cut struct {
	// After is the last entry that is certainly as it was; Exact tells that the cut
	// was made right behind it.
	After int64 `json:"after"`
	Exact bool  `json:"exact,omitempty"`
	// UpTo is the highest entry that a checkpoint signs and the trail does not have,
	// Kept where that checkpoint is.
	UpTo int64  `json:"up_to"`
	Kept string `json:"kept"`
	// Rewritten tells that the trail has an entry of that number, another one.
	Rewritten bool `json:"rewritten,omitempty"`
	// Acknowledged is who said that this cut is known.
	Acknowledged *Acknowledgement `json:"acknowledged,omitempty"`

	hash Hash
}

// Acknowledgement is the word of a person about a cut.
type Acknowledgement struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Seq    int64     `json:"seq"`
	Reason string    `json:"reason,omitempty"`
}

// String says what is missing, and what is known about it.
func (c Cut) String() string {
	if a := c.Acknowledged; a != nil {
		return fmt.Sprintf("cut at %d acknowledged by %s at %s", c.After, a.By, a.At.UTC().Format(time.RFC3339))
	}
	switch {
	case !c.Rewritten:
		return fmt.Sprintf("the trail ends at %d, but a checkpoint kept in %s signs entry %d", c.After, c.Kept, c.UpTo)
	case c.Exact:
		return fmt.Sprintf("the trail was cut at %d and written anew: a checkpoint kept in %s signs another entry %d", c.After, c.Kept, c.UpTo)
	default:
		return fmt.Sprintf("the trail was cut somewhere after %d and written anew: a checkpoint kept in %s signs another entry %d", c.After, c.Kept, c.UpTo)
	}
}

// Comparison is what holding the trail against kept checkpoints showed.
type Comparison struct {
	Kept []KeptReport `json:"kept,omitempty"`
	Cuts []Cut        `json:"cuts,omitempty"`
}

// KeptReport is about one place where checkpoints are kept.
type KeptReport struct {
	Where string `json:"where"`
	// Agree are those that sign the trail as it is; Last is the highest of them.
	Agree int   `json:"agree"`
	Last  int64 `json:"last,omitempty"`
	// Foreign are not signed by this hub's key, or not signed rightly: they say nothing.
	Foreign int `json:"foreign,omitempty"`
}

// open are the cuts nobody has acknowledged.
func (c Comparison) open() []Cut {
	return slices.DeleteFunc(slices.Clone(c.Cuts), func(cut Cut) bool { return cut.Acknowledged != nil })
}

// side is the trail as a comparison needs it.
type side struct {
	end    int64
	hashes map[int64]Hash // by number, of those that kept checkpoints sign
	claims []claim        // what the trail itself says about cuts
}

// newSide knows which numbers are asked for.
func newSide(kept []Kept) *side {
	s := &side{hashes: map[int64]Hash{}}
	for _, k := range kept {
		for _, cp := range k.Checkpoints {
			s.hashes[cp.Seq] = Hash{}
		}
	}
	return s
}

// lost is a checkpoint whose entry is not in the trail.
type lost struct {
	Checkpoint
	where string
}

func (s *side) compare(trusted []ed25519.PublicKey, kept []Kept) Comparison {
	out := Comparison{Kept: []KeptReport{}}
	var gone []lost
	var agreed []int64
	for _, k := range kept {
		r := KeptReport{Where: k.Where}
		for _, cp := range k.Checkpoints {
			switch {
			case cp.Seq < 1 || !cp.Valid(keysFor(trusted, cp)...):
				r.Foreign++
			case s.hashes[cp.Seq] != cp.Hash:
				gone = append(gone, lost{cp, k.Where})
			default:
				r.Agree++
				r.Last = max(r.Last, cp.Seq)
				agreed = append(agreed, cp.Seq)
			}
		}
		out.Kept = append(out.Kept, r)
	}
	out.Cuts = s.cuts(trusted, gone, agreed)
	return out
}

// cuts gathers what is gone: what the same acknowledgement covers is one cut, and
// whatever nobody acknowledged is another.
func (s *side) cuts(trusted []ed25519.PublicKey, gone []lost, agreed []int64) []Cut {
	slices.SortStableFunc(gone, func(a, b lost) int { return cmp.Compare(a.Seq, b.Seq) })
	by := map[int64]*Cut{}
	var order []int64
	for _, l := range gone {
		known := s.acknowledged(trusted, l.Checkpoint)
		cut := by[known.seq]
		if cut == nil {
			cut = s.begin(l, known, agreed)
			by[known.seq] = cut
			order = append(order, known.seq)
		}
		if l.Seq > cut.UpTo {
			cut.UpTo, cut.Kept, cut.hash, cut.Rewritten = l.Seq, l.where, l.Hash, l.Seq <= s.end
		}
	}
	var out []Cut
	for _, seq := range order {
		out = append(out, *by[seq])
	}
	return out
}

// begin finds where a cut was made, given its lowest checkpoint.
func (s *side) begin(l lost, known claim, agreed []int64) *Cut {
	if known.seq > 0 {
		return &Cut{After: known.After, Exact: true, Acknowledged: &Acknowledgement{By: known.by, At: known.at, Seq: known.seq, Reason: known.Reason}}
	}
	for _, c := range s.claims {
		if c.found && c.covers(l.Checkpoint) {
			return &Cut{After: c.After, Exact: true}
		}
	}
	if l.Seq > s.end {
		return &Cut{After: s.end, Exact: true}
	}
	cut := &Cut{}
	for _, seq := range agreed {
		if seq < l.Seq {
			cut.After = max(cut.After, seq)
		}
	}
	return cut
}

func (s *side) acknowledged(trusted []ed25519.PublicKey, cp Checkpoint) claim {
	for _, c := range s.claims {
		if !c.found && c.covers(cp) && c.signed(trusted) {
			return c
		}
	}
	return claim{}
}

// Compare holds the database against kept checkpoints without walking the chain: a
// few look-ups, for a hub that starts and for whoever looks at it.
func Compare(ctx context.Context, db *store.DB, trusted []ed25519.PublicKey, kept ...Kept) (Comparison, error) {
	s := newSide(kept)
	err := db.Read(ctx, func(tx *store.Tx) error {
		end, err := readHead(tx)
		if err != nil {
			return err
		}
		s.end, s.claims = end.seq, nil
		for seq := range s.hashes {
			var hash []byte
			err := tx.QueryRow(`SELECT hash FROM audit_entries WHERE seq = ?`, seq).Scan(&hash)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			s.hashes[seq] = exactHash(hash)
		}
		return tx.Each(func(row *sql.Rows) error {
			e, err := scanStored(row)
			s.hear(e)
			return err
		}, selectEntries+` WHERE action IN (?, ?) ORDER BY seq`, string(TrailCut), string(TrailCutAcknowledged))
	})
	if err != nil {
		return Comparison{}, err
	}
	return s.compare(trusted, kept), nil
}

// Compare holds the trail against kept checkpoints.
func (l *Chain) Compare(ctx context.Context, kept ...Kept) (Comparison, error) {
	return Compare(ctx, l.db, l.trusted(), kept...)
}
