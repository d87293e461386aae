// Package relay keeps sealed messages until their recipients fetch them.
//
//	r, err := relay.Open(ctx, relay.Deps{DB: db, Judge: judge, Note: note, …})
//	s := &relay.Sending{Who: who, Message: &relay.Message{Sender: "ada", Recipient: "bob", …}}
//	err = r.Send(ctx, s)                                        // on disk when err is nil
//	err = r.Receive(ctx, &relay.Receiving{Queue: "bob", …})     // taken out, or lent for a while
//	err = r.Settle(ctx, &relay.Settling{Queue: "bob", Done: …}) // what was lent is read
//
// A message has one durable home, its row of place_messages. What many ask for at the
// same time is one transaction, a turn:
//
//	Send, Receive, Settle, Expire ─▶ turn ─▶ judge: may they?
//	                                  │  └─▶ ledger: what waits where?
//	                                  └─▶ rows + audit, committed ─▶ ledger learns of it
//
// The ledger of a hub with a SQLite file of its own remembers (memory.go); that of hubs
// which share PostgreSQL asks the database (table.go). relaytest holds both to the same
// contract.
//
// What it guarantees:
//
//   - A message that was acknowledged is on disk, and is handed out in the order of its
//     queue, exactly once, or at least once if it is lent.
//   - A turn that fails changes nothing, here or in the database.
//   - A full queue refuses, or drops the oldest of whoever has most in it, and tells.
package relay
