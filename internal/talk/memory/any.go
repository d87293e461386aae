package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"parley.internal/internal/store"
)

const (
	// common is how many texts may have a word for all of them to be looked at.
	common = 2000
	// maxCounted is how far texts with a word are counted. Words that more have are equally common.
	maxCounted = 20_000
	// maxPaired is how many of a question's rarest words are looked for two by two.
	maxPaired = 4
	// maxPair is how many of the newest texts with two such words are looked at.
	maxPair = 200
)

// term is a word of the query, by its place there, and how many texts have it.
type term struct{ at, texts int }

// withAny gives what has any of the words, found by the rarest words first: a question in plain
// words has common ones beside the two or three that matter, and the newest texts with a common
// word say nothing about it. Where all words are common, texts with two of them are looked for.
func (s *searcher) withAny() ([]candidate, error) {
	terms, err := s.countTexts()
	if err != nil {
		return nil, err
	}
	g := gathered{s: s, at: map[int64]int{}}
	for i, t := range terms {
		if t.texts <= common {
			g.add(common, t.at)
			continue
		}
		for _, other := range terms[i+1 : max(i+1, min(len(terms), maxPaired))] {
			g.add(maxPair, t.at, other.at)
		}
	}
	for _, t := range terms {
		if t.texts > common && len(g.list) < maxRead {
			g.add(maxRanked+1-len(g.list), t.at)
		}
	}
	return g.list, g.err
}

// gathered collects what different words lead to.
type gathered struct {
	s    *searcher
	at   map[int64]int
	list []candidate
	err  error
}

// add looks up the newest texts that have all of some words.
func (g *gathered) add(limit int, words ...int) {
	if g.err != nil {
		return
	}
	var has uint32
	texts := make([]string, len(words))
	for i, w := range words {
		has |= 1 << w
		texts[i] = g.s.terms[w]
	}
	list, err := g.s.newest(texts, limit)
	g.err = err
	for _, c := range list {
		i, known := g.at[c.id]
		if !known {
			i = len(g.list)
			g.at[c.id], g.list = i, append(g.list, c)
		}
		g.list[i].has |= has
	}
}

// countTexts learns how rare each word is, compared with the commonest of the query. It gives the
// words that somebody used at all, the rarest first.
func (s *searcher) countTexts() ([]term, error) {
	var terms []term
	most := 0
	for i := range s.terms {
		n, err := s.count(s.terms[i])
		if err != nil {
			return nil, err
		}
		most = max(most, n)
		if n > 0 {
			terms = append(terms, term{i, n})
		}
	}
	for _, t := range terms {
		// Squared, so that one rare word outweighs several common ones that happen to be there too.
		s.rarity[t.at] = math.Pow(math.Log(1+2*float64(most)/float64(t.texts)), 2)
	}
	slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(a.texts, b.texts) })
	return terms, nil
}

// count tells how many texts have a word, up to maxCounted.
func (s *searcher) count(word string) (n int, err error) {
	if s.tx.Dialect() == store.Postgres {
		where, args := s.conditions(true)
		err = s.tx.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM talk_docs d JOIN talk_texts x ON x.id = d.id WHERE x.words @@ to_tsquery('simple', ?)`+where+` LIMIT ?) AS counted`,
			append(append([]any{word}, args...), maxCounted)...).Scan(&n)
		return n, err
	}
	waiting, err := s.tail([]string{word})
	if err != nil {
		return 0, err
	}
	match, narrowed, err := s.narrow(`text : ("` + word + `")`)
	if err != nil {
		return 0, err
	}
	where, args := s.conditions(!narrowed)
	from := ` FROM fts_talk f WHERE fts_talk MATCH ?`
	if strings.TrimSpace(where) != "" {
		from = ` FROM fts_talk f JOIN talk_docs d ON d.id = f.rowid WHERE fts_talk MATCH ?` + where
	}
	err = s.tx.QueryRow(`SELECT count(*) FROM (SELECT 1`+from+` LIMIT ?)`, append(append([]any{match}, args...), maxCounted)...).Scan(&n)
	return min(n+len(waiting), maxCounted), err
}
