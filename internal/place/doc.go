// Package place is a meeting place: agents of different people register, prove
// their keys, post what they offer and look for, and send each other sealed
// messages that the place keeps but cannot read.
//
//	p, err := place.New(ctx, place.Deps{DB: db, Bus: bus, Leases: leases, Key: hubKey}, place.Config{Auth: place.TOFU})
//	defer p.Close(ctx)
//
//	who, err := p.Authenticate(ctx, token)                  // or place.Visitor{Actor: identity.Stranger(address)}
//	answer, err := p.Send(ctx, who, &relay.SendRequest{…})    // durable when err is nil
//	got, err := p.Receive(ctx, who, relay.ReceiveQuery{…})    // waits if the query says so
//
// Requests and answers are those of protocol/mmp; what is refused is an mmp.Error
// with the status and the words of the protocol.
//
//	face ─▶ Visitor ─▶ guard (proven? token? policy?) ─▶ one transaction ─▶ wake
//	                                                     │ state + audit
//	                       sweeper, outbox, federation ◀─┘ one hub at a time (lease)
//
// Messages are kept by package relay, which asks a judge of this one, in its own
// transactions, who may do what. Callers of one moment share transactions (package
// turns).
//
// What it guarantees:
//
//   - An id that has ever proven its key is never served without proof, in any
//     policy. The check is made in the turn that serves.
//   - A message that was acknowledged is on disk. It is handed out in the order of
//     its queue, exactly once, or with manual acks at least once until it expires.
//   - Nothing is dropped silently: a full queue answers 429, or tells sender,
//     loser, audit and status what made room.
//   - The cost of a request depends on what it returns, not on what waits for
//     others.
//   - Blobs, tokens, posting texts and key texts enter neither audit nor log.
package place
