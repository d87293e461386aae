package front

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
)

// Need fails unless the session has the scope; the trail is told who asked for what.
func (f *Front) Need(r *http.Request, who identity.Actor, scope string) error {
	err := Need(who, scope)
	if err != nil {
		f.refusedRequest(r, who, scope, "insufficient_scope")
	}
	return err
}

// refusedRequest records a request of somebody known who may not make it.
func (f *Front) refusedRequest(r *http.Request, who identity.Actor, scope, code string) {
	detail := map[string]any{"scope": scope}
	for name, value := range map[string]string{"by_token": who.TokenID, "by_page": who.PageID, "by_device": who.Device, "by_address": Address(r)} {
		if value != "" {
			detail[name] = value
		}
	}
	f.noteRefusal(who.TokenID+who.PageID, audit.Entry{
		Actor: who.String(), Action: audit.ScopeRefused, Target: r.Method + " " + cut(r.URL.Path), Outcome: code, Detail: detail,
	})
}

// refusedPage records a page whose cookie, or proof of being our page, was not accepted.
func (f *Front) refusedPage(r *http.Request, err error) {
	outcome := string(identity.ReasonOf(err))
	if p, ok := errors.AsType[*Problem](err); ok {
		outcome = p.Code
	}
	if outcome == "" {
		return // the database was away, which is nobody's fault
	}
	address := Address(r)
	f.noteRefusal(address, audit.Entry{Actor: "address:" + address, Action: audit.AuthRefused, Outcome: outcome, Detail: map[string]any{"page": true}})
}

// noteRefusal writes a refusal down unless its author floods the trail with them.
func (f *Front) noteRefusal(author string, e audit.Entry) {
	if f.trail == nil {
		return
	}
	more, ok := f.refusals.allow(author, time.Now())
	if !ok {
		return
	}
	if more > 0 {
		e.Detail["more_before"] = more
	}
	f.trail.Note(e)
}

const (
	// floodEach is how many refusals of one author are written each minute. The rest is
	// counted, and told with the first of the next minute.
	floodEach = 20
	// floodAuthors bounds who is remembered.
	floodAuthors = 10_000
)

// floods counts refusals by author.
type floods struct {
	mu   sync.Mutex
	seen map[string]*tally
}

type tally struct {
	until time.Time
	n     int
}

func (f *floods) allow(author string, now time.Time) (more int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil || len(f.seen) >= floodAuthors {
		f.seen = map[string]*tally{}
	}
	t := f.seen[author]
	if t == nil || now.After(t.until) {
		if t != nil {
			more = max(0, t.n-floodEach)
		}
		t = &tally{until: now.Add(time.Minute)}
		f.seen[author] = t
	}
	t.n++
	return more, t.n <= floodEach
}
