package brain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"parley.internal/internal/brain/model"
)

// maxShown is how many bytes of files one request carries, the newest first: providers refuse
// requests above 32 MB, and files grow by a third on the way.
const maxShown = 20 << 20

// Takes reports whether a model's server knows how to be given files of a type. Whether the model
// behind it can see or hear is for the server to say.
func (m *Model) Takes(kind string) bool {
	switch {
	case m.Kind == KindOffline:
		return true
	case strings.HasPrefix(kind, "image/"), kind == "application/pdf":
		return true
	}
	return m.Kind != KindAnthropic && (kind == "audio/wav" || kind == "audio/mpeg")
}

// Showing puts the files of a run before its model, and tells about it: each once.
type Showing struct {
	Model Model
	// Bytes reads a file.
	Bytes func(ctx context.Context, digest string) ([]byte, error)
	// Shown hears of a file that the model gets; Withheld of one that it does not, and why.
	Shown    func(f model.File)
	Withheld func(f model.File, why string)

	mu   sync.Mutex
	told map[string]bool
}

// Prepare fills in the bytes of the files that the model can take. It is told of the others in
// words (see [model.Message.Words]), and so is whoever listens.
func (s *Showing) Prepare(ctx context.Context, msgs []model.Message) []model.Message {
	if s == nil || !HasFiles(msgs) {
		return msgs
	}
	msgs = slices.Clone(msgs)
	room := int64(maxShown)
	for i := len(msgs) - 1; i >= 0; i-- {
		msgs[i].Files = slices.Clone(msgs[i].Files)
		for j := range msgs[i].Files {
			s.one(ctx, &msgs[i].Files[j], &room)
		}
	}
	return msgs
}

// HasFiles reports whether any file goes along with messages.
func HasFiles(msgs []model.Message) bool {
	return slices.ContainsFunc(msgs, func(m model.Message) bool { return len(m.Files) > 0 })
}

func (s *Showing) one(ctx context.Context, f *model.File, room *int64) {
	why := ""
	switch {
	case !s.Model.Takes(f.Type):
		why = fmt.Sprintf("%s does not take %s", s.Model.Ref, f.Type)
	case f.Size > *room:
		why = "newer files fill the request"
	default:
		data, err := s.Bytes(ctx, f.Digest)
		if err != nil {
			why = "it cannot be read: " + err.Error()
			break
		}
		f.Data = data
		*room -= f.Size
	}
	if s.heard(f.Digest) {
		return
	}
	if why == "" {
		s.Shown(*f)
		return
	}
	s.Withheld(*f, why)
}

// heard tells whether a file was told of before, and notes that it is now. A model call that was
// cut short may still look at its files while the next begins.
func (s *Showing) heard(digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told == nil {
		s.told = map[string]bool{}
	}
	before := s.told[digest]
	s.told[digest] = true
	return before
}
