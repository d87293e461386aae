// Package kenny is the fleet wire, kenny protocol 0.8: what a hub and the
// endpoint on a managed machine say to each other over one WebSocket.
//
// It is pure: no I/O, no clock, no goroutine. It holds the frames and their
// strict codec, the bytes both sides sign, key and version rules, limits,
// error and close codes, and the catalogue of tools with their argument checks.
//
//	endpoint                         hub
//	  register(agent_id, nonce)  →
//	                             ←  challenge(nonce, signature)
//	  auth(signature)            →
//	                             ←  policy(rules)      always first
//	                             ←  request(id, tool)  any number, any order
//	  response(id)               →
//	  telemetry, log             →
//	  ping                       ↔  pong
//
// What the codec guarantees:
//   - keys are matched exactly; unknown, duplicate and missing keys, null in
//     place of a value, bad UTF-8 and lax base64 are refused;
//   - open objects (meta, sections, args, result, fields) are kept as they
//     came, big numbers included, so decode then encode is an equal JSON value;
//   - a refusal is a [*FrameError] that says which kind of bad it is, because
//     a hub treats text that is no JSON, a bad frame, a frame of a later
//     protocol and an oversized one differently.
//
// A short tour:
//
//	frame, err := kenny.Decode(message)
//	switch f := frame.(type) {
//	case *kenny.Request:
//		tool, ok := kenny.Lookup(f.Tool)
//		args, err := tool.CheckArgs(f.Args)
//		…
//	}
//	message, err := kenny.Encode(&kenny.Response{ID: id, OK: true})
//
// On this wire, and only here, the machine's program is called "agent".
package kenny
