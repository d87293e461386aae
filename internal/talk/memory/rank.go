package memory

import (
	"database/sql"
	"slices"
	"strings"
)

const (
	// maxRead is how many texts are read to rank by what is in them. Beyond that
	// the words are so common that what a text is and how long tells enough to
	// leave the others out.
	maxRead = 500
	// readAtOnce bounds the parameters of one query.
	readAtOnce = 500
)

// rank orders candidates by BM25, times the weight of their class; equal scores by age, newest
// first. It is the same arithmetic on both databases, so both give the same hits.
//
// It has two stages, because a common word matches thousands of texts: all are
// ranked as if they had each word that led to them once, which takes no reading;
// the best of them are read and ranked by how often they have every word.
func (s *searcher) rank(list []candidate) ([]candidate, error) {
	total := int64(0)
	for _, c := range list {
		total += c.size
	}
	average := float64(total)/float64(max(len(list), 1)) + 1
	if len(list) > maxRead {
		once := make([]int, len(s.terms))
		for i := range list {
			for t := range once {
				once[t] = int(list[i].has >> t & 1)
			}
			list[i].score = s.score(list[i], once, average)
		}
		order(list)
		list = list[:maxRead]
	}
	if err := s.readTexts(list); err != nil {
		return nil, err
	}
	for i := range list {
		list[i].score = s.score(list[i], occurrences(list[i].text, s.terms), average)
	}
	order(list)
	return list, nil
}

// score is what a text is worth that has each word so many times. Who said it counts for less than
// which words it has: a title weighs seven quarters of what an agent said.
func (s *searcher) score(c candidate, counts []int, average float64) (score float64) {
	for t, n := range counts {
		score += s.rarity[t] * weight(n, float64(c.size)/average)
	}
	return score * float64(3+c.class) / 4
}

func order(list []candidate) {
	slices.SortFunc(list, func(a, b candidate) int {
		if a.score != b.score {
			return cmpFloat(b.score, a.score)
		}
		return int(b.id - a.id)
	})
}

// readTexts fills in the texts of candidates.
func (s *searcher) readTexts(list []candidate) error {
	at := make(map[int64]int, len(list))
	for i := range list {
		at[list[i].id] = i
	}
	for rest := list; len(rest) > 0; {
		batch := rest[:min(readAtOnce, len(rest))]
		rest = rest[len(batch):]
		args := make([]any, len(batch))
		for i := range batch {
			args[i] = batch[i].id
		}
		err := s.tx.Each(func(row *sql.Rows) error {
			var id int64
			var text string
			if err := row.Scan(&id, &text); err != nil {
				return err
			}
			list[at[id]].text = text
			return nil
		}, `SELECT id, text FROM talk_texts WHERE id IN (?`+strings.Repeat(`, ?`, len(batch)-1)+`)`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// weight is what having a word n times is worth in a text of that length.
func weight(n int, length float64) float64 {
	const k1, b = 1.2, 0.3 // what people tell an agent is short: that one message is twice as long says little
	return float64(n) * (k1 + 1) / (float64(n) + k1*(1-b+b*length))
}

func cmpFloat(a, b float64) int {
	if a < b {
		return -1
	}
	return 1
}

// occurrences counts whole words; the text is normalised, so a word ends at a space.
func occurrences(text string, terms []string) []int {
	counts := make([]int, len(terms))
	for i, term := range terms {
		for rest := text; ; {
			at := strings.Index(rest, term)
			if at < 0 {
				break
			}
			end := at + len(term)
			if (at == 0 || rest[at-1] == ' ') && (end == len(rest) || rest[end] == ' ') {
				counts[i]++
			}
			rest = rest[end:]
		}
	}
	return counts
}
