// Package roomagent puts an agent into a room: it perceives what the room lets it
// and acts as far as the room lets it, whatever carries it.
//
//	conn, err := roomagent.Dial(ctx, "https://hub.example.org/r/table", roomagent.DialOptions{Name: "Notes", Key: key})
//	a := roomagent.New(conn, roomagent.ReadOnly(), roomagent.Backend("Claude"))
//	a.OnView(func(view json.RawMessage, from string) { … })
//	a.OnChat(func(m roomagent.Chat) { _ = a.Say(ctx, "noted, "+m.Name) })
//
// A Controller carries the agent: a WebSocket (Dial), a mesh of WebRTC links
// (DialMesh), or a room in memory (package roomagenttest). The agent's code is the
// same on each.
//
// What it guarantees: callbacks run one after the other, in the room's order, on
// one goroutine per agent; one that panics stops no other; a callback may
// unsubscribe or speak. The newest view is kept before any callback runs. A
// read-only agent sends nothing, whatever its code does; what the room itself
// forbids comes back as a *DeniedError.
package roomagent
