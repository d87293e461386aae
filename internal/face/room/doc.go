// Package room is the WebSocket of rooms: relay and signalling in one.
//
//	face := room.New(room.Deps{Rooms: rooms, People: people, Front: front})
//	mux.Handle("GET /rooms/{room}/ws", face)
//	defer face.Close(ctx)
//
//	socket ─▶ client (text frames, heartbeat, queue) ─▶ room.Connection
//	   ▲                                                   │
//	   └────────── frames, encoded once for many ◀─────────┘
//
// What it guarantees:
//
//   - Nothing of a room is sent before the room is found, the credential, if
//     there is one, is good, and the page is the hub's
//     own or one of a listed website, whose visitors' cookies are not looked at.
//   - A reader that does not read is cut with 4408 and slows nobody else. Only
//     the newest roster and caps wait for it.
//   - A revoked credential ends its presence and closes 4401.
//   - A frame for a thousand members is encoded once.
package room
