// Package approval is the one inbox: every question that waits for a person
// before something happens, whatever part of the hub asks it.
//
//	inbox, err := approval.Open(ctx, db, bus, approval.Options{Audit: trail})
//	pending, err := inbox.Ask(ctx, approval.Request{
//		Principal: person.ID, Kind: approval.KindTool, Tool: "shell", Arguments: args,
//		RequestedBy: "agent:parley", Task: taskID, Timeout: 5 * time.Minute,
//	})
//	outcome, err := pending.Wait(ctx)      // whoever answers, on whatever hub
//	if outcome.Approved() { run(pending.Item().Arguments) }
//
//	result, err := inbox.Answer(ctx, who, id, approval.Answer{Approved: true})
//
// What it guarantees:
//
//   - A question is on disk before Ask returns and outlives the hub: Resume finds
//     it again after a restart.
//   - It is decided exactly once, by the first valid answer, by its time running
//     out or by being cancelled, also with several hubs on one database. Every
//     later answer is told what was decided and changes nothing.
//   - What was shown is what may run: arguments are kept byte for byte and nothing
//     in an answer can change them.
//   - Only a person answers; an agent never does. Another person's question looks
//     exactly like one that does not exist.
//   - Watch shows what waits and then every change, with no gap between, also
//     across hubs and lost messages.
package approval
