package mask

import "bytes"

// search finds secrets from left to right. What each of them occurs at next is
// remembered, so that a text full of secrets is read once for each and not once for
// every pair.
type search struct {
	k    known
	buf  []byte
	hits []hit // of the values, then of the forms
}

type hit struct{ at, end int }

// none is where a secret is that does not occur any more.
const none = int(^uint(0) >> 1)

func (k known) search(buf []byte) *search {
	s := &search{k: k, buf: buf, hits: make([]hit, len(k.values)+len(k.forms))}
	for i := range s.hits {
		s.hits[i].at = -1
	}
	return s
}

// next is the first secret at or behind from, the longest if several begin there;
// at is -1 if there is none. One of a form may be growing at its end.
func (s *search) next(from int) (at, end int, growing bool) {
	best, which := hit{at: none}, 0
	for i := range s.hits {
		if s.hits[i].at < from {
			s.hits[i] = s.find(i, from)
		}
		if h := s.hits[i]; h.at < best.at || h.at == best.at && h.end > best.end {
			best, which = h, i
		}
	}
	if best.at == none {
		return -1, 0, false
	}
	return best.at, best.end, which >= len(s.k.values)
}

func (s *search) find(i, from int) hit {
	if i < len(s.k.values) {
		v := s.k.values[i]
		if n := bytes.Index(s.buf[from:], []byte(v)); n >= 0 {
			return hit{from + n, from + n + len(v)}
		}
		return hit{at: none}
	}
	return s.findForm(s.k.forms[i-len(s.k.values)], from)
}

func (s *search) findForm(f form, from int) hit {
	for {
		n := bytes.Index(s.buf[from:], []byte(f.prefix))
		if n < 0 {
			return hit{at: none}
		}
		at := from + n
		begin := at + len(f.prefix)
		if size := body(s.buf[begin:]); size >= f.body {
			return hit{at, begin + size}
		}
		from = at + 1
	}
}
