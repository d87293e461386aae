// Package board is where clients of the board protocol reach the hub: tasks,
// approvals and terminals over one WebSocket.
//
//	face := board.New(board.Deps{Work: tasks, Terminals: terminals, People: people, Front: front, Version: "1.2.0"})
//	mux.Handle("GET /ws", face)
//	defer face.Close(ctx)
//
//	frame ─▶ conn (envelope, scope, rate) ─▶ lane ─▶ work, terminal
//	           ▲                              │
//	           ├── screen: what the desk shows ◀─ work: tasks, approvals, agent states, in one order
//	           └── viewer: a terminal       ◀──┘   one goroutine per terminal looked at
//
// A conn is one client. What it asks is done in the order it was asked; heartbeats
// and typing never wait behind a task. The face knows the wire and who may do
// what; what a task or a terminal is, the domain knows.
//
// What it guarantees:
//
//   - A client written from the base protocol alone works. Every request has an
//     answer that names it in reply_to, or an error that does.
//   - Nothing is done for a client that has not proven who it is. What it may do
//     is what its credential, its role and its own wish have in common, checked on
//     every message and every push. Another person's things do not exist for it.
//   - A revoked or expired credential ends its connections; tasks and terminals go on.
//   - The events of a task arrive in their order, none twice. A slow reader's text
//     is merged, a stuck one is cut (4013); neither slows anybody else.
//   - What breaks the protocol is answered and counted; the tenth time in a minute
//     ends that connection and touches no other.
package board
