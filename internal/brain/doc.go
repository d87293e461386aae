// Package brain is what makes an agent think: the run loop that takes a request
// through as many model calls and tool rounds as it needs, and what a hub keeps
// for it: agents ([Library]), models ([Catalogue]) and budgets ([Meter]).
//
// It knows nothing of conversations, tasks or rooms. They build the request, give
// it to [Run] and hear what happens through a [Sink]:
//
//	out := brain.Run(ctx, brain.RunSpec{
//		Model:   m,                       // from Catalogue.Resolve
//		Request: model.Request{Purpose: model.ForTurn, System: prompt, Messages: window},
//		Tools:   set,
//		Policy:  brain.PolicyFor(sender, agent.AutoApprove),
//		Store:   myStore,                 // commits each round before the next
//	}, sink)
//
//	 provider ─▶ Call (retries, time-outs) ─▶ answer ─┬─ no calls ─▶ Outcome
//	     ▲                                            │
//	     └── results ◀─ tool.Round ◀─ Store.Calls ◀───┘
//
// Run guarantees: it always returns, within a second of a cancel even if a
// provider or a tool hangs; the sink is never called twice at a time, in order; the
// chunks of a round add up to its text byte for byte; every call gets exactly one
// result; nothing is retried once a token went out; a budget is checked before
// every model call. It starts no goroutine that it does not wait for, except to
// leave behind what does not listen to its context.
//
// A task engine that decides after every model call what comes next uses the
// pieces instead: [Call] for one model call, [Answer] to put its pieces together,
// and package tool for the calls.
package brain
