// Package fleet manages machines: who they are, whether they live, how they
// are, and what people and agents do on them.
//
//	f, err := fleet.New(fleet.Deps{DB: db, Bus: bus, Leases: leases, Audit: trail, Inbox: inbox, Key: key, …})
//	err = f.Start(ctx)
//	defer f.Close(ctx)
//
//	done, err := f.Call(ctx, who, call.Request{Machine: "studio-3", Tool: "fs_disk_usage"})
//	// done.Result is the machine's own object; err is a *fault.Error with a stable code
//
// A machine's program, the endpoint, dials the hub and proves itself; the face
// of the tunnel does the talking and hands what comes to a [Session].
//
//	face/tunnel ─▶ Greet, Admit ─▶ Session ─▶ telemetry ─▶ health ─▶ notices
//	                                  ▲
//	page, REST, MCP, agents ─▶ Call ──┘   scope → machine → class and system → arguments
//	                                      → mirror → approval → intent → tunnel → outcome
//
// What a call is, and the log of them, is in call; what machines told, on disk, in
// telemetry; their programs in update; how the fleet says no in fault; its tools for
// agents in tools.
//
// What it guarantees:
//
//   - [Fleet.Call] is the only way to a machine, whoever asks. What was shown to a
//     person is what runs: target and arguments are frozen before the question.
//   - A call that changes something is in the trail before it is sent. One that
//     was sent and whose end nobody saw is never sent again.
//   - A call belongs to the connection it was written to: when that ends, exactly
//     its calls fail, at once. An old connection that ends late touches nothing
//     of the new one.
//   - What a machine pushes is filed under the id it proved, never under the one
//     it claims.
//   - Enrolment, keys, queued calls and their states are on disk before anybody
//     is told.
//   - A machine that does not read, floods or lies costs its own connection and
//     nobody else's.
package fleet
