// Package mcp lets language models use the hub: the tools of its parts, over the
// Model Context Protocol.
//
//	face, err := mcp.New(mcp.Deps{Front: f, People: people, Toolsets: []mcp.Toolset{mcp.Agents(talk, library), …}})
//	face.Mount(mux)                   // /mcp, /mcp/agents, …, and what clients discover
//	defer face.Close(ctx)
//
// A part offers a Toolset; a Tool is a name, a schema, a scope and a function:
//
//	Tool{
//		Name: "stop", Description: "Stop a task.", Scope: identity.TaskControl,
//		Input: Object(Required("task", Text("the task's id", 1, 64))),
//		Run: Handle(func(ctx context.Context, c *Call, in stopArgs) (Result, error) { … }),
//	}
//
// One path serves every revision of the protocol. Requests of 2026-07-28 stand
// alone; older ones begin a session with initialize:
//
//	request ─ bearer token ─ scope ─ limits ─┬─ 2026-07-28 ─▶ handler without sessions ─┐
//	                                         └─ older ──────▶ handler with sessions ────┴▶ tool
//
// What it guarantees:
//
//   - Nobody reaches a tool without a bearer token that holds its scope. A page's
//     cookie is no credential here, so no foreign page can borrow one.
//   - A session belongs to the token that began it. Revoking the token ends its
//     sessions and the calls that are under way.
//   - Arguments reach a tool only if its schema allows them, unknown and repeated
//     keys included.
//   - A tool that fails, or panics, is an answer "code: message" to the model and a
//     line in the log, never the end of anything else.
//   - State between calls exists only in a session, and ends with it.
package mcp
