package agentfirst

import (
	"context"
	"io"
	"sync"

	wire "parley.internal/protocol/agentfirst"
)

// call is one request and what is left of its answer.
type call struct {
	link *link
	id   uint64
	last func(*wire.ServerMessage) bool // tells the frame that ends the answer; an error always does
	q    *queue

	// turn is set for runs, which want to be cancelled when their consumer leaves.
	// A streamed run is told its id by its first frame.
	turn   *wire.Turn
	stream bool

	mu    sync.Mutex
	runID string
	done  bool // the last frame has come
	left  bool // the consumer has gone
	told  bool // a cancel was sent
}

// next returns the next frame of the answer; io.EOF after the last.
func (c *call) next(ctx context.Context) (*wire.ServerMessage, error) {
	m, err := c.q.next(ctx)
	if err != nil {
		return nil, err
	}
	return m, errorIn(m)
}

// receive is the reader's side.
func (c *call) receive(m *wire.ServerMessage, size int, done bool) {
	c.mu.Lock()
	c.learn(m)
	c.done = done
	left := c.left
	c.mu.Unlock()
	if left {
		c.cancel()
		return
	}
	c.q.put(m, size, c.link.dead)
	if done {
		c.q.finish(io.EOF)
	}
}

// learn notes the run's id, which the first frame of a run carries.
func (c *call) learn(m *wire.ServerMessage) {
	for _, id := range []string{m.GetStream().GetStart().GetRunId(), m.GetStream().GetQueued().GetRunId()} {
		if id != "" {
			c.runID = id
		}
	}
}

// ended reports whether the last frame has come.
func (c *call) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// letRun makes a later leave spare the run.
func (c *call) letRun() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = nil
}

// leave is the consumer's goodbye, harmless after the end. What the server still
// sends is discarded; a plain server can only be told by hanging up.
func (c *call) leave() {
	c.q.leave()
	c.mu.Lock()
	c.left = true
	done := c.done
	c.mu.Unlock()
	if done {
		return
	}
	if !c.link.extended() {
		c.link.fail(ErrClosed)
		return
	}
	c.cancel()
}

// cancel tells the server, once, that nobody waits for this run any more. A
// stream is named by its id as soon as that is known, so that no other turn of
// the conversation is hit; a send never learns its id and names the conversation.
func (c *call) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	unwanted := c.turn != nil && !c.turn.GetDetached() && !c.done && !c.told
	if !unwanted || c.stream && c.runID == "" {
		return
	}
	c.told = true
	req := &wire.ClientMessage{Message: &wire.ClientMessage_Cancel{Cancel: &wire.Cancel{
		Agent: c.turn.GetAgent(), Sender: c.turn.GetSender(), Thread: c.turn.GetThread(), RunId: c.runID,
	}}}
	// Not here: the reader must not wait for a write.
	c.link.background(req)
}
