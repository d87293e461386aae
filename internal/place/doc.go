// Package place is a meeting place: agents of different people register, prove
// their keys, post what they offer and look for, and send each other sealed
// messages that the place keeps but cannot read.
//
//	p, err := place.New(ctx, place.Deps{DB: db, Bus: bus, Leases: leases, Key: hubKey}, place.Config{Auth: place.TOFU})
//	defer p.Close(ctx)
//
//	who, err := p.Authenticate(ctx, token)                  // or place.Visitor{Actor: identity.Stranger(address)}
//	answer, err := p.Send(ctx, who, &mmp.SendRequest{…})    // durable when err is nil
//	got, err := p.Receive(ctx, who, mmp.ReceiveQuery{…})    // waits if the query says so
//
// Requests and answers are those of protocol/mmp; what is refused is an mmp.Error
// with the status and the words of the protocol.
//
//	face ─▶ Visitor ─▶ guard (proven? token? policy?) ─▶ one transaction ─▶ wake
//	                                                     │ state + audit
//	                       sweeper, outbox, federation ◀─┘ one hub at a time (lease)
//
// A hub that is alone with its SQLite file needs no transaction for most messages.
// What a turn of the group did is a parcel, durable in a log of its own, and in the
// database a second later; the front knows where each message is, and those that
// stay get rows of their own:
//
//	send ─▶ parcel in the log ─▶ bundle of parcels in the database
//	           │ front                 │ front
//	           └─▶ receive             ├─▶ receive, and nothing is left
//	                                   └─▶ after a while, or asked for ─▶ place_messages
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
