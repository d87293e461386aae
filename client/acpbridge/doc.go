// Package acpbridge lets an editor that speaks the Agent Client Protocol drive an agent of a hub, over
// standard input and output: parley acp.
//
//	b := &acpbridge.Bridge{Agent: "parley", Talk: talk, Hub: hub, Version: version}
//	err := b.Run(ctx, os.Stdin, os.Stdout)
//
//	editor                              hub
//	  session/new                        (a thread of the agent's conversation)
//	  session/load         ───────▶      its history
//	  session/prompt       ───────▶      a turn
//	  session/update       ◀───────      text, thinking, tools and their results
//	  request_permission   ◀───────      an approval that waits for this turn
//	  … its answer         ───────▶      an answer to the inbox, judged there
//	  session/cancel       ───────▶      the turn is cancelled
//
// The agent works where the hub says, with its memory, tools and approvals. The editor's own files and
// terminals are not used. The inbox stays the authority: the editor is asked beside it, the first
// answer counts, and whether this person may answer with this token is the hub's to say.
package acpbridge
