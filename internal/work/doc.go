// Package work runs tasks: an agent is handed a goal, works on it turn by turn
// with model and tools, asks a person where it must, and everything it does is an
// event in the task's log.
//
//	w, err := work.New(work.Deps{DB: db, Log: log, Leases: leases, Bus: bus, Agents: library, Models: catalogue, Inbox: inbox, …})
//	err = w.Start(ctx)                    // takes over what a former life left
//	defer w.Close(ctx)
//
//	sub, err := w.Submit(ctx, session, work.SubmitRequest{Key: key, Submit: submit})
//	for ev, err := range sub.Stream.Events(ctx) { … }   // task:started (1) … exactly one end
//
// A running task is one goroutine that owns its state: history, queue, approvals
// and log. The lease it holds makes it the only one in the cluster.
//
//	Submit ─▶ store (key, task, event 1) ─▶ task ─▶ model call ─▶ tools ─▶ … ─▶ end
//	Stop, Message ─▶ mailbox ───────────────▲ │ append, then tell
//	                                          ▼
//	Follow ◀──── event log (replay, then live), on any hub
//
// What it guarantees:
//
//   - Of any number of submits with one key, on any hubs, one starts a run. The
//     reservation, the task and its first event are one transaction.
//   - Events are numbered 1, 2, 3 … and on disk before anybody sees them. Exactly
//     one end is the last.
//   - A log that grows beyond its limit has the text deltas of its older part merged
//     first (from_seq), and only if that is not enough are the oldest events
//     forgotten. Whoever comes back after any number still gets the same text.
//   - A message to a running task is processed or refused or given back; there is
//     no fourth outcome. The task decides "completed" in the same step in which it
//     would accept one.
//   - A tool runs with exactly the arguments that were shown, once; no hub repeats
//     a call of which it does not know whether it ran.
//   - Stop, messages, listings and answers never wait for a model or a tool.
//   - A hub that lost a task cannot write to it; another takes it over and does
//     what its on_restart says.
//
// # How a face uses it
//
// Sessions decide whose tasks one sees: another person's task is ErrNotFound, as
// if it did not exist; admins see all. Scopes are the face's business.
//
// A connection keeps one [Desk], through which it submits, follows, stops and
// answers. The desk shows what waits for the person and then whatever happens, in one
// order, with the request that a thing answers; the face has only to leave out what
// the connection may not see. Who has no connection to keep (REST, MCP) uses Submit,
// Stop, Answer and Follow.
//
// Submit answers in four ways: a new task (Stream from its first event); the key
// is in progress (Running; the Stream begins after the present event); the key has
// ended (Replay: started, then the end); an error.
//
// Merging text for a slow reader is the face's: neighbouring text deltas may be
// joined with viber.MergeText. A stream that falls too far behind ends with
// ErrLagged.
//
// Errors: a [*viber.Violation] is a protocol_error with its reason, a
// [*LimitError] is rate_limited, a [*RefusedError] holds the task:error to send;
// the sentinels in errors.go name their code.
package work
