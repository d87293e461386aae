package bus

import (
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// answers brings answers to those who asked. The library's own requests would end
// with the first message that comes, and anybody can send one; here only an answer
// that a hub sealed for this very request counts.
type answers struct {
	mu      sync.Mutex
	waiting map[uint64]*question
}

// question is a request that waits.
type question struct {
	nonce   stampNonce
	subject string
	answer  chan answerOrNobody
}

// answerOrNobody is an answer; nobody says that the server found nobody to ask.
type answerOrNobody struct {
	data   []byte
	nobody bool
}

func (a *answers) ask(n stampNonce, subject string) *question {
	q := &question{nonce: n, subject: subject, answer: make(chan answerOrNobody, 1)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[uint64]*question{}
	}
	a.waiting[n.count()] = q
	return q
}

func (a *answers) forget(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, q.nonce.count())
}

func (a *answers) find(count uint64) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting[count]
}

// give answers a question; the first answer counts.
func (q *question) give(a answerOrNobody) {
	select {
	case q.answer <- a:
	default:
	}
}

// replySubject is where the answer to a request goes. It follows from what the
// request is sealed with: nobody can have an answer sent elsewhere.
func (b *NATS) replySubject(n stampNonce) string {
	s := n.session()
	return b.replies + hex.EncodeToString(s[:]) + "." + strconv.FormatUint(n.count(), 16)
}

// heardAnswer takes a message that came where answers to this hub go.
func (b *NATS) heardAnswer(m *nats.Msg) {
	count, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 16, 64)
	q := b.answers.find(count)
	if err != nil || q == nil {
		return // nobody waits any more
	}
	// The server's own word, which no hub can seal: who reaches NATS could lie about it, as they
	// could hold the request back.
	if len(m.Data) == 0 && m.Header.Get("Status") == noResponders {
		q.give(answerOrNobody{nobody: true})
		return
	}
	now := time.Now()
	e, data, err := b.openAnswer(m.Data, q, now)
	if err != nil {
		b.refusals.count(err, q.subject, &e, now)
		return
	}
	q.give(answerOrNobody{data: data})
}

// noResponders is what the server itself answers.
const noResponders = "503"

// openAnswer needs no memory: an answer is bound to its request, which is over
// with the first.
func (b *NATS) openAnswer(raw []byte, q *question, now time.Time) (e envelope, data []byte, err error) {
	if e, err = parse(raw); err != nil {
		return e, nil, err
	}
	if e.kind != answered {
		return e, nil, errForged
	}
	if data, err = b.seal.open(e, q.subject, q.nonce); err != nil {
		return e, nil, err
	}
	if age := now.Sub(e.sent); age > window || age < -window {
		return e, nil, errClock
	}
	return e, data, nil
}
