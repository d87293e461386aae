package wsconn_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley.internal/internal/wsconn"
)

// Messages that are written by their sender and others arrive in the order they
// were sent, also when the peer reads nothing for a while.
func TestWrittenAtOnceKeepsTheOrder(t *testing.T) {
	st := serve(t, wsconn.Options{Queue: wsconn.QueueLimit{Frames: 1 << 12, Bytes: 1 << 30}}, script{})
	client := st.dial()
	c := st.conn()
	const n = 400
	pad := strings.Repeat("x", 20_000) // 8 MB in all: more than sockets hold
	for i := range n {
		m := wsconn.Message{Kind: wsconn.Text, Data: fmt.Appendf(nil, "%d %s", i, pad), Now: i%5 != 0}
		if i%3 == 0 {
			m = wsconn.Message{Frame: wsconn.Prepare(wsconn.Text, m.Data), Now: m.Now}
		}
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if got := hear(t, client); got != fmt.Sprintf("%d %s", i, pad) {
			t.Fatalf("%.20s came as number %d", got, i)
		}
	}
}

// Several senders at once lose nothing, and a close ends behind all of it.
func TestWrittenAtOnceByMany(t *testing.T) {
	st := serve(t, wsconn.Options{}, script{})
	client := st.dial()
	c := st.conn()
	var senders sync.WaitGroup
	const each = 50
	for s := range 4 {
		senders.Go(func() {
			for i := range each {
				_ = c.Send(wsconn.Message{Kind: wsconn.Text, Data: fmt.Appendf(nil, "%d %d", s, i), Now: true})
			}
		})
	}
	next := [4]int{}
	for range 4 * each {
		var s, i int
		if _, err := fmt.Sscan(hear(t, client), &s, &i); err != nil || next[s] != i {
			t.Fatalf("sender %d: %d came, %d was due (%v)", s, i, next[s], err)
		}
		next[s]++
	}
	senders.Wait()
	if err := c.Close(1000, "done"); err != nil {
		t.Fatal(err)
	}
	if got := hearClose(t, client); got != "1000 done" {
		t.Errorf("got is %v; want \"1000 done\"", got)
	}
}

// An answer goes out, and so do answers to messages that come in one piece.
func TestAnswers(t *testing.T) {
	st := serve(t, wsconn.Options{}, script{message: func(c *wsconn.Conn, kind wsconn.Kind, data []byte) {
		_ = c.Answer(wsconn.Message{Kind: kind, Data: append([]byte{}, data...)})
	}})
	client := st.dial()
	for i := range 20 {
		say(t, client, fmt.Sprint(i))
	}
	for i := range 20 {
		if got := hear(t, client); got != fmt.Sprint(i) {
			t.Fatalf("%s came as number %d", got, i)
		}
	}
}
