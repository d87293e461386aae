// Package roommcp lets a model sit in rooms by a key of its own: a tool server of
// the Model Context Protocol on a program's standard input and output.
//
//	s := &roommcp.Server{Hub: "https://hub.example.org", Key: key, Version: "1.0"}
//	err := s.Run(ctx, os.Stdin, os.Stdout)
//
// It offers join, observe, say and leave, with the arguments and results of the
// hub's own path /mcp/room. The difference is who comes: there the hub seats a
// model for the owner of a token, here the agent of a key connects from this
// computer, over the room's WebSocket or over WebRTC links.
//
// What it guarantees: a line is given to the model once and never its own; at most
// 500 wait, and what was lost is counted; the end of the input, or ten minutes
// without a look, leaves the room.
package roommcp
