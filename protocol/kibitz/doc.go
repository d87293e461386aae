// Package kibitz is the rooms wire, the Kibitz agent protocol over a
// WebSocket relay: people and agents in one live room, each with a grant of
// what it may perceive and do.
//
// It is pure: no I/O, no goroutine, and the time is a parameter. It holds the
// frames of both sides, content and its limits, grants, signed tokens and the
// order they are judged in, credits, the codes of refusals, the two things a
// hub must read in SDP, and the box of sealed rooms.
//
//	client                              hub
//	                                 ←  hello {nonce}
//	  voice {name, agentAssertion}   →      bound to origin, room and nonce
//	                                 ←  lobby, self, roster, caps
//	                                 ←  retained schemas and views, then live
//	  send {c, to?, n}               →  from {seq, c} to whom the grants allow
//	                                 ←  ack {n, seq} or nak {n, code, reason}
//
// What it guarantees:
//   - a grant read from JSON holds only known words, and no intersection ever
//     widens one;
//   - a token is verified as the text that came, then parsed; a proof is bound
//     to one connection, one room and a few minutes;
//   - opaque values keep every token, big numbers included, and a name used
//     twice is refused, so that hub and receiver read the same message;
//   - every refusal has a code and a fixed text.
//
// A short tour:
//
//	fp := kibitz.ChannelFingerprint(origin, room, hello.Nonce)
//	proof, err := kibitz.SignAssertion(key, room, fp, now)
//	who, err := kibitz.VerifyAssertion(proof, room, fp, allowed, now)
//
//	frame, err := kibitz.DecodeClient(message)
//	if send, ok := frame.(*kibitz.Send); ok {
//		c, err := kibitz.OpenContent(send.C)
//		if !grant.Effective(now).Has(c.Right()) {
//			return kibitz.Lacks(c.Right())
//		}
//		wire, err := c.Check(sealed, send.To != "")
//		…
//	}
package kibitz
