// Package agentfirst is the wire of the agent-first conversation protocol: a
// person talks to a named agent, and the pair (agent, sender) is the
// conversation. There are no session ids.
//
// The package is pure. It holds the protobuf messages (agentfirst.proto), the
// length-prefixed framing, the rules for names and titles, the tagging of other
// agents' words, and the JSONL form of a stored conversation. It does no I/O
// beyond the io.Reader and io.Writer it is handed, reads no clock and starts no
// goroutine.
//
// # Two generations
//
// The original protocol uses numbers below 200. Parley adds fields, variants and
// enum values from 200 on. Fields may be sent to anybody; variants and enum
// values only to an extended client, one that has said hello. [ForPlain] and
// [EventForPlain] tell which is which.
//
// # Framing
//
//	+----------------------+-------------------+
//	| length, 4 bytes, BE  | protobuf payload  |   Unix socket and TCP
//	+----------------------+-------------------+
//
// A WebSocket binary frame is the payload alone. Either way a payload has at most
// [MaxPayload] bytes, and a reader gives up on a larger announced length before
// it has read or allocated any of it.
//
//	fr := agentfirst.NewFrameReader(conn)
//	payload, err := fr.Next()                      // io.EOF between frames
//	msg, err := agentfirst.UnmarshalClient(payload)
//	frame, err := agentfirst.AppendFrame(nil, reply)
//
// # Words of other agents
//
// A model that reads a conversation sees its own words bare and every other
// agent's inside a from-tag ([Tag]). In such a request people's and agents' texts are
// escaped so that nobody can write such a tag ([EscapeFrom]); a model that imitates
// one is cleaned by a [TagFilter]. What tools give stays byte for byte.
package agentfirst

//go:generate ./generate.sh
