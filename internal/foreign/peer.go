package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/acp"
)

// maxNoise is how many lines that are no messages an agent may print: some greet their user, or warn.
const maxNoise = 100

// peer is the line to an agent. What it says comes in one order, as fast as it is taken; until
// then its pipe is full and it waits.
type peer struct {
	incoming chan acp.Message // closed when there is no more; err says why
	left     chan struct{}    // closed when nobody listens any more
	err      error

	mu   sync.Mutex
	in   io.WriteCloser
	next int64
}

var errTooLong = fmt.Errorf("it sent a message of more than %d bytes", acp.MaxMessage)

// newPeer begins to read; whoever calls it waits for the end of read.
func newPeer(in io.WriteCloser) *peer {
	return &peer{in: in, incoming: make(chan acp.Message, 16), left: make(chan struct{})}
}

// read takes in what the agent says until it ends.
func (p *peer) read(out io.Reader) {
	defer close(p.incoming)
	lines := bufio.NewReaderSize(out, 64<<10)
	for noise := 0; noise <= maxNoise; {
		line, err := readLine(lines)
		if err != nil {
			p.err = err
			return
		}
		if len(line) == 0 {
			continue
		}
		m, err := acp.Decode(line)
		if err != nil {
			noise++
			continue
		}
		select {
		case p.incoming <- m:
		case <-p.left:
			return
		}
	}
	p.err = errors.New("what it prints is not the agent client protocol")
}

// readLine reads one line of a bounded length, without its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > acp.MaxMessage:
			return nil, errTooLong
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return bytes.TrimSpace(line), nil
		}
	}
}

// send writes one message.
func (p *peer) send(m acp.Message) error {
	line, err := acp.Encode(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.in.Write(line)
	return err
}

// notify sends what wants no answer.
func (p *peer) notify(method string, params any) error {
	raw, err := acp.Raw(params)
	if err != nil {
		return err
	}
	return p.send(acp.Message{Method: method, Params: raw})
}

// request sends a request and names it.
func (p *peer) request(method string, params any) (id string, err error) {
	raw, err := acp.Raw(params)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	p.next++
	id = strconv.FormatInt(p.next, 10)
	p.mu.Unlock()
	return id, p.send(acp.Message{ID: jsontext.Value(id), Method: method, Params: raw})
}

// answer answers a request of the agent, with a result or an error.
func (p *peer) answer(to acp.Message, result any, failed error) error {
	m := acp.Message{ID: to.ID}
	if failed != nil {
		e, ok := errors.AsType[*acp.Error](failed)
		if !ok {
			e = &acp.Error{Code: acp.CodeInternal, Message: failed.Error()}
		}
		m.Error = e
		return p.send(m)
	}
	raw, err := acp.Raw(result)
	if err != nil {
		return err
	}
	m.Result = raw
	return p.send(m)
}
