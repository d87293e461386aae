// Package agentfirst is a client of any server that speaks the agent-first
// conversation protocol, Parley's hub above all.
//
//	c, err := agentfirst.Dial(ctx, "unix:///home/ann/.parley/parley.sock", agentfirst.Options{})
//	if err != nil { ... }
//	defer c.Close()
//	for event, err := range c.Stream(ctx, &wire.Turn{Agent: "parley", Content: "Good morning"}) {
//		if err != nil { ... }
//		fmt.Print(event.GetChunk().GetContent())
//	}
//
// # Two generations of servers
//
// Dial says hello. A server that knows the additions answers it, and from then on
// any number of requests share one connection, told apart by request ids. The
// original server answers 400; the client then stays plain: it sends nothing the
// original does not know, one request at a time per connection, opening another
// connection when the first is busy (a question asked during a run is answered
// that way). Requests that only the additions have fail with ErrPlain.
//
// # Leaving a run
//
// Breaking out of a Stream, or ending its context, cancels the run, unless the
// turn was Detached. An extended server is told by a cancel naming the run; a
// plain one by closing that run's connection.
//
// # Slow consumers
//
// Runs share the connection, so a consumer of one must not hold up the others:
// what it has not taken yet is kept, up to Options.MaxBuffered bytes. Beyond, that
// one stream ends with ErrLagged; the run goes on at the server and its text is in
// the history. Attach, SubscribeEvents, Export, Import and every plain stream have
// a connection of their own, where a slow consumer slows only itself.
//
// # Lost connections
//
// Requests under way fail with ErrConnectionLost; the next request dials again.
// Attach dials again by itself and goes on after the last message it has seen.
package agentfirst
