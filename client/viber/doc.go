// Package viber is a client of any server that speaks the board protocol,
// Parley's hub above all: submit a goal, follow the run, answer approvals, steer,
// share terminals.
//
//	c, err := viber.Dial(ctx, "wss://hub.example.org/ws", viber.Options{Token: "prl_…"})
//	if err != nil { … }
//	defer c.Close()
//	task, err := c.Submit(ctx, &wire.TaskSubmit{Goal: "Run the tests", Options: &wire.TaskOptions{StreamDeltas: true}})
//	if err != nil { … }
//	for m, err := range task.Events(ctx) {
//		if err != nil { … }
//		if d, ok := m.Body.(*wire.TaskDelta); ok {
//			fmt.Print(d.Text)
//		}
//	}
//
// wire is parley.internal/protocol/viber.
//
// # Base and extensions
//
// The welcome says what a server can do. Against a server that knows the base
// alone the client sends nothing else: answers are told apart by their type and
// task id, messages to a task and answers to approvals are sent without waiting
// for an acknowledgement, and what only the extensions have fails with an
// [*UnsupportedError]. A server that marks its answers with reply_to is asked and
// waited for.
//
// # Lost connections
//
// The client comes back by itself, after one second, then twice as long up to
// thirty, with chance in it. Requests under way fail with [ErrConnectionLost];
// those made meanwhile wait. On a server that can resume, tasks go on after the
// last event received: every event comes once, in order. Submit then also tries
// again by itself, which its idempotency key makes safe. Terminals are attached
// again: a [*wire.TerminalAttached] in the stream means "clear the screen, all of
// the scrollback follows". Without resume, streams end with ErrConnectionLost.
//
// Being refused (wrong token, no longer allowed, replaced) ends the client:
// [Client.Done] is closed and [Client.Err] says why.
//
// # Slow consumers
//
// Streams share the connection, so that a consumer of one must not hold up the
// others: what it has not taken yet is kept, up to Options.MaxBuffered bytes.
// Beyond, that one stream ends with [ErrLagged]; the task goes on at the server,
// and [Client.Follow] picks it up again.
package viber
