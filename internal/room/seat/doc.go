// Package seat puts what the hub itself runs into rooms: agents of the hub, and
// a card table to try rooms out with.
//
//	seats, err := seat.New(seat.Deps{DB: db, Leases: leases, Rooms: rooms, Mind: mind})
//	seats.Start(ctx)
//	defer seats.Shutdown(ctx)
//	_, err = seats.Seat(ctx, who, "standup", seat.Request{Agent: "kibitzer"})
//
//	row in the store ─▶ keeper (lease) ─▶ chair (one goroutine) ─▶ room.Connection
//	                                        ├ sitter: manners ─▶ Mind (one model call)
//	                                        └ table: game ─▶ one view per participant
//
// Whoever is seated comes through the door like any other agent: its own key is
// in the room's policy, with the default grant, and taking the key away ends its
// presence wherever it is. A row outlives the hub: after a restart, or on another
// hub of the cluster, the seat is taken again.
//
// What it guarantees:
//
//   - An agent discloses the model that what it perceives goes to. If the model
//     changes, the new one is disclosed first, and a host must grant anew.
//   - No model is asked while the agent may not speak. What was said in the room
//     is given to it as quoted material, without tools unless an operator listed
//     some; and then those only that change nothing.
//   - The table shows each hand to its owner alone, by directed views.
package seat
