package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"unicode"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/talk/memory"
	wire "parley.internal/protocol/openai"
)

// step is one side's words as they are compared: who spoke, and what, without white space. Clients
// trim and join texts, and a run's answer is several messages here and one there.
type step struct{ role, text string }

type steps []step

func (s *steps) add(role, text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if text == "" {
		return
	}
	if n := len(*s); n > 0 && (*s)[n-1].role == role {
		(*s)[n-1].text += text
		return
	}
	*s = append(*s, step{role, text})
}

// stepsOf are the words of a client's history. Tools and their results are not compared: they are
// the hub's to know.
func stepsOf(turns []wire.Turn) (s steps) {
	for _, t := range turns {
		if t.Role != wire.Tool {
			s.add(string(t.Role), t.Text)
		}
	}
	return s
}

func storedSteps(msgs []memory.Message) (s steps) {
	for _, m := range msgs {
		if m.Role == model.User || m.Role == model.Assistant {
			s.add(string(m.Role), m.Text)
		}
	}
	return s
}

// endOf tells whether these are the last steps of all; whole wants them to be all there are.
func (s steps) endOf(all steps, whole bool) bool {
	if len(s) > len(all) || whole && len(s) != len(all) {
		return false
	}
	tail := all[len(all)-len(s):]
	for i := range s {
		if s[i] != tail[i] {
			return false
		}
	}
	return true
}

func (s steps) digest() string {
	h := sha256.New()
	for _, one := range s {
		h.Write([]byte(one.role + "\x00" + one.text + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// states remembers where a history was last seen, so that the usual request need not read the
// conversation. It is a shortcut only: what is forgotten is looked up.
type states struct {
	mu    sync.Mutex
	known map[string]state
}

// state is a conversation, and the number of its last message when the client had read all of it.
type state struct {
	thread string
	seq    int64
}

const mostStates = 10_000

func newStates() *states { return &states{known: map[string]state{}} }

func (s *states) get(key string) (state, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.known[key]
	return v, ok
}

func (s *states) put(key string, v state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= mostStates {
		clear(s.known)
	}
	s.known[key] = v
}
