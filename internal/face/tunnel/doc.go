// Package tunnel is where machines meet the hub: the WebSocket at /agent/ws, the
// enrolment of their keys, installer links and update downloads.
//
//	t := tunnel.New(tunnel.Deps{Fleet: machines, Front: door, Log: log})
//	t.Routes(mux)
//	defer t.Close(ctx)
//
// It does the talking and the limiting; what anything means is package fleet's
// business.
//
//	upgrade ─▶ register ─▶ challenge ─▶ auth ─▶ fleet.Session
//	  │ 429/503    │ 4400, 4401            │ 4401      │ 4400, 4408, 4409, 1009, 1012
//	  └ too many   └ not in 10 s           └ not in 10 s, or wrong
//
// What it guarantees: strangers are bounded in number, in bytes and in time before
// any key is looked at; whatever a machine sends or does not read costs its own
// connection only; all waiting is done by one timing wheel.
package tunnel
