// Package room is where people and agents meet live, each with a grant of what
// it may perceive and do.
//
//	rooms, err := room.New(room.Deps{DB: db, Leases: leases, Bus: bus, Trail: trail})
//	err = rooms.Start(ctx)
//	defer rooms.Shutdown(ctx)
//
//	connection, err := rooms.Enter(ctx, room.Entry{Room: "standup", Link: link, Origin: "https://hub.example"})
//	connection.Receive(message)            // what the client says
//	defer connection.Gone()
//
//	socket ─▶ connection (form, rates) ─▶ room (one goroutine) ─▶ links of those who may perceive it
//	                                   │  gate: proofs, off the room's goroutine
//	                                   └▶ store: policy, grants, bans, presences; trail
//
// A room is one goroutine that owns its state (a reader may have a turn for one
// message while it is idle, docs/decisions/017); the lease it holds makes it the
// only one in the cluster. Other hubs hold sockets and forward over the bus.
//
// What it guarantees:
//
//   - Nobody is sent what its grant does not let it perceive, nor what somebody
//     without the right has emitted. Messages are judged by the clock and the
//     grant of the moment; a change is written and sent before it is answered.
//   - One total order: each accepted message has the next number, and every
//     connection sees rising numbers, also across a resume.
//   - State directed to one participant is sent to, kept for and listed for it
//     alone.
//   - An agent enters by its own key, bound to its own connection. When the key
//     goes from the policy, its presence ends.
//   - Every refusal has a code and every decision an entry in the trail. Content
//     is in neither, nor in the database.
//   - A slow reader costs its own queue and nothing else; a flood is stopped
//     before it reaches the room.
package room
