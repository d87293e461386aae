// Package talk is where clients of the conversations protocol reach the hub: a
// Unix socket, TCP on this machine, and a WebSocket path.
//
//	face := talk.New(talk.Deps{Talk: engine, Agents: library, Models: catalogue, Shelf: shelf, People: people, Front: front})
//	err := face.ListenUnix(filepath.Join(data, "parley.sock"))
//	err = face.ListenTCP("127.0.0.1:0", talk.TCPOptions{PortFile: filepath.Join(data, "parley.talk.port")})
//	mux.Handle("GET /talk/ws", face)
//	defer face.Close(ctx)
//
//	bytes ─▶ link (framing, limits, outbox) ─▶ conn ─▶ handlers (table.go) ─▶ talk.API, brain, …
//	           ▲                                 │
//	           └────── answers, events ◀─────────┘
//
// One conn is one client, whatever it came through; a link is how bytes get in
// and out. handlers is the table of everything a client may ask.
//
// What it guarantees:
//
//   - A client that knows only the original protocol works unchanged: it is never
//     sent a variant, an event or an enum value it does not know, and two of its
//     runs on one connection never mix.
//   - Control and listings are answered at once, in the order they came, also
//     while runs stream. Runs that carry a request id go on side by side.
//   - Nobody waits for a slow reader. Neighbouring pieces of a run's text are
//     merged, losing nothing; a reader that falls 8 MiB behind is cut (1013).
//   - Nothing but hello and ping is answered before the client has said who it
//     is, which it has ten seconds for. A revoked token ends its connections.
//   - A bad frame ends one connection and touches no other.
//
// The Unix socket trusts the system's word on who is at the other end: the
// hub's own user and root act as the hub's owner. Where the system gives no such
// word (Windows), the socket wants a token like every other way in.
package talk
