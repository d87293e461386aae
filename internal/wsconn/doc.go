// Package wsconn is one WebSocket connection done right, for the server side of every face.
//
// A Group holds the connections of one face and what they share: limits, heartbeats, counters, shutdown.
//
//	group := wsconn.NewGroup(wsconn.Options{
//		Read:     wsconn.ReadLimit{Message: 64 << 10},
//		Queue:    wsconn.QueueLimit{Frames: 256, Bytes: 2 << 20},
//		Overflow: wsconn.Close{Code: 4408, Reason: "too slow"},
//		Ping:     wsconn.Heartbeat{Every: 30 * time.Second},
//		Silence:  wsconn.Silence{After: 75 * time.Second, Close: wsconn.Close{Code: 4408, Reason: "silent"}},
//	})
//	defer group.Close()
//
//	func (f *face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
//		_, err := f.group.Upgrade(w, r, func(c *wsconn.Conn) wsconn.Handler {
//			_ = c.SendText(welcome) // the first frame, whatever the client does
//			return &session{conn: c}
//		})
//		…
//	}
//
// # Sending
//
// Send never blocks and may be called from anywhere. Each connection has one bounded queue, in frames and in
// bytes; what is being written counts until it is written. A message says what may happen to it when the peer
// is slow: MustDeliver (a full queue cuts the connection), Newest (only the newest with that key waits), Merge
// (joins the waiting neighbour with that key, losing nothing), Droppable (the oldest goes first). A peer
// that does not read costs its own bounded queue and nothing else.
//
// A writer goroutine exists only while something waits, takes everything that waits at once, and writes it in
// one call. A message for many is encoded once with Prepare.
//
// # Receiving
//
// Handler.Message is called in order on the connection's reading goroutine. While it runs nothing more is read, which
// is the back-pressure on the peer. The data is only valid during the call.
//
// Limits are enforced on frame headers, before a byte of the message is stored, and may change at any time
// (SetReadLimit): the next message is measured with the new ones. A message that is too large closes the connection
// or, with ReadLimit.Discard, is skipped while it is read.
//
// # Ending
//
// Close sends what waits, then the close frame, and gives the peer CloseTimeout to answer. Cut forgets what
// waits. Handler.Closed is called exactly once, last, with who ended it and why.
//
// # The library
//
// Frames are parsed by github.com/lxzan/gws, which sees the network through stream (stream.go): that is where limits
// are kept and where its own closing behaviour, which cannot bound a stuck peer, is replaced. Only
// upgrade.go, reader.go and stream.go know it.
package wsconn
