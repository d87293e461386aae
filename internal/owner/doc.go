// Package owner is for what lives on one hub at a time: a task, a room, a machine's
// session, a terminal, a conversation. Each is found from any hub and moves when its
// hub dies. A domain says how its thing is loaded, what it can be asked and what its
// errors are called; how the question gets there is the same for all.
//
//	tasks, err := owner.New(owner.Deps{Bus: b, Leases: leases, Clustered: true}, owner.Kind[*task, request, answer]{
//		Name: "task", Do: handle, Unowned: hasEnded,
//		Errors: []owner.Named{owner.Error("finished", ErrFinished), owner.ErrorType[*LimitError]("limit")},
//	})
//	err = tasks.Add(t.id, t, nil)                       // it lives here from now on
//	a, err := tasks.Ask(ctx, id, request{Op: "stop"})   // here or on another hub, the same answer
//
//	Ask ──▶ here? ──▶ Do
//	   └──▶ the hub that answered last, else the lease's ──▶ bus ──▶ Do ──▶ answer
//	              "not mine any more" ──▶ look again
//
// What it guarantees (and ownertest.Contract checks):
//
//   - Do runs where the thing lives, and not on a hub that lost it: one that slept past
//     its lease asks the database before it answers.
//   - A thing between two owners is waited for, a bounded time. A question is put again
//     only if nobody has begun to answer it, unless the kind says that twice does no harm.
//   - Nobody owns it (Unowned decides what that means) and the owner is silent
//     (ErrSilent) are different answers. Silence is found by looking which hubs live,
//     not by waiting for a time-out.
//   - Errors keep their identity by name. Questions and answers have any size up to
//     MaxBody. Deadline and cancellation reach the other side; so does the death of
//     whoever asked.
//   - A hub needs no database to ask again: it remembers who answered.
//
// The lease is the record of who owns what; everything here is in memory and may be
// lost with the process.
package owner
