// Package talk holds conversations: an agent's memory with one sender, the turns
// said in it, guests, compaction, archives, questions and schedules.
//
//	t, err := talk.New(talk.Deps{Memory: mem, Leases: leases, Bus: bus, Agents: library, Models: catalogue, …})
//	err = t.Start(ctx)
//	defer t.Close(ctx)
//
//	run, err := t.Turn(ctx, talk.Own("user"), talk.TurnRequest{Key: talk.Key{Agent: "parley", Sender: "user"}, Content: "Hello"})
//	defer run.Leave()
//	for ev, err := range run.Events(ctx) { … }        // start, chunks, …, exactly one end
//
// A loaded conversation is one goroutine that owns its window, its queue and its
// run; the lease it holds makes it the only one in the cluster.
//
//	Turn ─▶ conversation ─▶ job (brain.Run) ─▶ memory      the record
//	           │ queue          │
//	           ▼                ▼
//	         feed ◀──── events ─┘ ─▶ runs, attached devices, subscribers, other hubs
//
// What it guarantees:
//
//   - What was accepted is on disk: a waiting turn before its queued event, the
//     user's words before start, tool calls before the tools run, their results
//     before the next model call, the reply before end. Every write carries the
//     lease's check, so a hub that lost the conversation cannot write to it.
//   - Every accepted turn ends exactly once, and user and reply never interleave.
//   - Cancel, kill, reply, listings, history and search never wait for a run.
//   - A run never waits for a reader. Neighbouring pieces of text are merged for a
//     slow one, losing nothing; one that falls behind for good is cut.
//   - A device that attaches sees every message and event from there on, with no
//     gap and no duplicate, on whatever hub it is.
//   - Injected context (framing, environment, recalled memory) is made afresh for
//     each run and reaches neither store nor index nor export.
package talk
