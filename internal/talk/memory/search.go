package memory

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// Limits of a search.
const (
	maxRanked    = 10_000 // the newest matches are ranked; older ones are left out
	DefaultHits  = 10
	MaxHits      = 20
	DefaultNear  = 2
	MaxNear      = 16
	snippetBytes = 1 << 10
)

// Query is what to look for. Words are ANDed; if nothing has them all, any will do. Words that hold
// a sentence together do not count, unless there are no others.
type Query struct {
	Text string
	// Any is for questions in plain words: what has the most and the rarest of the words comes first,
	// whether or not something has them all.
	Any bool
	// Agent and Sender narrow; both together search one pair's memory.
	Agent, Sender string
	// Thread narrows to one thread if not nil.
	Thread *string
	// Allowed is what the caller may see, as in Filter. nil means everything.
	Allowed       *identity.Senders
	After, Before time.Time
	Limit         int
	// Near is how many neighbours of a message are shown on each side; -1 for none.
	Near int
	// OutsideOf leaves out the live window of a conversation: what its model
	// sees anyway.
	OutsideOf string
	// Archive narrows to one archive's messages.
	Archive string
}

// Found is the result of a search.
type Found struct {
	Hits []Hit
	// Truncated says that there were more matches than could be ranked.
	Truncated bool
}

// Hit is one thing that was found.
type Hit struct {
	Kind         string // message, archive, note
	Conversation string
	ArchiveID    string
	Key
	Seq     int64
	Role    string
	Speaker string
	Snippet string
	Cut     bool
	At      time.Time
	Score   float64
	Title   string
	Near    []Neighbour
}

// Neighbour is a message beside a hit.
type Neighbour struct {
	Seq     int64
	Role    string
	Speaker string
	Text    string
	Cut     bool
}

func (q Query) withDefaults() Query {
	if q.Limit <= 0 {
		q.Limit = DefaultHits
	}
	q.Limit = min(q.Limit, MaxHits)
	if q.Near == 0 {
		q.Near = DefaultNear
	}
	q.Near = min(q.Near, MaxNear)
	return q
}

// Search finds messages, archives and notes.
func (m *Memory) Search(ctx context.Context, q Query) (found Found, err error) {
	q = q.withDefaults()
	terms := words(q.Text)
	if len(terms) == 0 {
		return Found{}, nil
	}
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		found = Found{}
		outside, err := outsideOf(tx, q.OutsideOf)
		if err != nil {
			return err
		}
		s := &searcher{tx: tx, q: q, terms: terms, outside: outside}
		found, err = s.run()
		return err
	})
	return found, err
}

// window is the part of a conversation that a recall leaves out.
type window struct{ num, from int64 }

func outsideOf(tx *store.Tx, id string) (window, error) {
	if id == "" {
		return window{}, nil
	}
	num, c, err := byID(tx, id)
	return window{num, c.WindowFrom}, err
}

type searcher struct {
	tx    *store.Tx
	q     Query
	terms []string
	// rarity is what having a word is worth.
	rarity  []float64
	outside window
}

// candidate is a match before it is ranked.
type candidate struct {
	id, class, size int64
	// has are the words that led to it, one bit each; it may have others.
	has   uint32
	text  string
	score float64
}

func (s *searcher) run() (Found, error) {
	list, truncated, err := s.matches()
	if err != nil {
		return Found{}, err
	}
	if list, err = s.rank(list); err != nil {
		return Found{}, err
	}
	found := Found{Truncated: truncated}
	seen := map[string]bool{}
	for _, c := range list {
		if len(found.Hits) == s.q.Limit {
			break
		}
		hit, err := s.hit(c)
		if err != nil {
			return Found{}, err
		}
		// An archive is found by its title and by its summary: once is enough.
		if hit.Kind == "archive" {
			if seen[hit.ArchiveID] {
				continue
			}
			seen[hit.ArchiveID] = true
		}
		found.Hits = append(found.Hits, hit)
	}
	return found, nil
}

// matches finds what may be meant.
func (s *searcher) matches() (list []candidate, truncated bool, err error) {
	s.rarity = slices.Repeat([]float64{1}, len(s.terms))
	if !s.q.Any || len(s.terms) == 1 {
		list, err = s.newest(s.terms, maxRanked+1)
		for i := range list {
			list[i].has = 1<<len(s.terms) - 1
		}
	}
	if err == nil && len(list) == 0 && len(s.terms) > 1 {
		list, err = s.withAny()
	}
	if len(list) > maxRanked {
		return list[:maxRanked], true, err
	}
	return list, false, err
}

// newest reads the newest docs that have all of some words.
func (s *searcher) newest(terms []string, limit int) ([]candidate, error) {
	if s.tx.Dialect() == store.SQLite {
		return s.fromIndex(terms, limit)
	}
	return s.fromVectors(terms, limit)
}

// fromVectors asks PostgreSQL.
func (s *searcher) fromVectors(terms []string, limit int) (list []candidate, err error) {
	where, args := s.conditions(true)
	err = s.tx.Each(func(row *sql.Rows) error {
		var c candidate
		err := row.Scan(&c.id, &c.class, &c.size)
		list = append(list, c)
		return err
	}, `SELECT d.id, d.class, d.size FROM talk_docs d JOIN talk_texts x ON x.id = d.id WHERE x.words @@ to_tsquery('simple', ?)`+where+` ORDER BY d.id DESC LIMIT ?`,
		append(append([]any{strings.Join(terms, "&")}, args...), limit)...)
	return list, err
}

// conditions narrow by everything but words; without the pair if the index has
// narrowed by that.
func (s *searcher) conditions(pair bool) (string, []any) {
	var b strings.Builder
	var args []any
	also := func(clause string, values ...any) {
		b.WriteString(" AND " + clause)
		args = append(args, values...)
	}
	q := s.q
	if pair && q.Agent != "" {
		also("d.agent = ?", q.Agent)
	}
	if pair && q.Sender != "" {
		also("d.sender = ?", q.Sender)
	}
	if q.Allowed != nil {
		clause, values := allowed("d.sender", *q.Allowed)
		also(clause, values...)
	}
	if q.Thread != nil {
		also("d.conversation IN (SELECT num FROM talk_conversations WHERE thread = ?)", *q.Thread)
	}
	if !q.After.IsZero() {
		also("d.at >= ?", store.Micros(q.After))
	}
	if !q.Before.IsZero() {
		also("d.at < ?", store.Micros(q.Before))
	}
	if s.outside.num != 0 {
		also("NOT (d.conversation = ? AND d.kind = 'message' AND d.seq >= ?)", s.outside.num, s.outside.from)
	}
	if q.Archive != "" {
		also(`EXISTS (SELECT 1 FROM talk_archives a WHERE a.id = ? AND a.conversation = d.conversation AND d.seq BETWEEN a.from_seq AND a.to_seq)`, q.Archive)
	}
	return b.String(), args
}
