package memory

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// rare is how many texts may have a query's words for the words to be looked up
// alone. What is rare in all memories is quickly looked through; what is common is
// joined with the scope's own list in the index, which is as long as the memory.
const rare = 2000

// fromIndex asks SQLite: the index, and the texts that wait for it.
func (s *searcher) fromIndex(terms []string, limit int) ([]candidate, error) {
	list, err := s.tail(terms)
	if err != nil || len(list) >= limit {
		return list, err
	}
	match, narrowed, err := s.narrow(`text : ("` + strings.Join(terms, `" AND "`) + `")`)
	if err != nil {
		return nil, err
	}
	more, err := s.lookUp(match, narrowed, limit-len(list))
	return append(list, more...), err
}

// narrow adds the pair whose memory is searched, unless the words are rare anyway.
func (s *searcher) narrow(words string) (match string, narrowed bool, err error) {
	if s.q.Agent == "" || s.q.Sender == "" {
		return words, false, nil
	}
	few, err := s.isRare(words)
	if few || err != nil {
		return words, false, err
	}
	return `scope : "` + scope(s.q.Agent, s.q.Sender) + `" AND ` + words, true, nil
}

func (s *searcher) isRare(words string) (bool, error) {
	var n int
	err := s.tx.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM fts_talk WHERE fts_talk MATCH ? LIMIT ?)`, words, rare).Scan(&n)
	return n < rare, err
}

// Where class and size are in the number that stands for a match.
const (
	sizeBits, classBits = 20, 3
	maxSize             = 1<<sizeBits - 1
)

// lookUp gives the newest matches in the index. They come as one text of numbers:
// stepping through ten thousand rows would cost three times as much.
func (s *searcher) lookUp(match string, narrowed bool, limit int) ([]candidate, error) {
	where, args := s.conditions(!narrowed)
	var numbers sql.NullString
	err := s.tx.QueryRow(`SELECT group_concat(n) FROM (
		SELECT (d.id << 23) | (d.class << 20) | min(d.size, 1048575) AS n FROM fts_talk f JOIN talk_docs d ON d.id = f.rowid
		WHERE fts_talk MATCH ?`+where+` ORDER BY f.rowid DESC LIMIT ?)`, append(append([]any{match}, args...), limit)...).Scan(&numbers)
	if err != nil || numbers.String == "" {
		return nil, err
	}
	list := make([]candidate, 0, strings.Count(numbers.String, ",")+1)
	for number := range strings.SplitSeq(numbers.String, ",") {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, candidate{id: n >> (sizeBits + classBits), class: n >> sizeBits & (1<<classBits - 1), size: n & maxSize})
	}
	return list, nil
}

// tail looks through the texts that are not in the index yet for those that have all of some words.
func (s *searcher) tail(terms []string) (list []candidate, err error) {
	where, args := s.conditions(true)
	err = s.tx.Each(func(row *sql.Rows) error {
		var c candidate
		if err := row.Scan(&c.id, &c.class, &c.size, &c.text); err != nil {
			return err
		}
		if !slices.Contains(occurrences(c.text, terms), 0) {
			list = append(list, c)
		}
		return nil
	}, `SELECT d.id, d.class, d.size, x.text FROM talk_texts x CROSS JOIN talk_docs d ON d.id = x.id WHERE x.id > `+lastIndexed+where+` ORDER BY x.id DESC`, args...)
	return list, err
}
