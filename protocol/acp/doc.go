// Package acp is the wire of the Agent Client Protocol, version 1: how an editor, here
// the hub, drives a coding agent that is a program of its own. Each message is one line of
// JSON-RPC 2.0, in both directions.
//
//	client                          agent
//	  initialize           ───────▶
//	  session/new, /load   ───────▶
//	  session/prompt       ───────▶
//	                       ◀───────  session/update …        (text, tool calls, plan, usage)
//	                       ◀───────  session/request_permission, fs/…, terminal/…
//	                       ◀───────  the prompt's result, with its stop reason
//	  session/cancel       ───────▶  any time
//
// The package is pure: types and codec. [Decode] refuses lines that are no message and leaves
// alone what it does not know: members, kinds of updates and methods of later versions
// are for whoever reads the message to ignore or to refuse.
package acp
