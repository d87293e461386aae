// Package foreign runs coding agents of others, which people already have, as agents of
// tasks: programs in the box that speak the Agent Client Protocol on their standard input
// and output (package acp).
//
//	agents := foreign.New(foreign.Options{Dir: data+"/foreign", Sandbox: box, …})
//	agent, err := agents.Agent("opencode")          // as a task's agent
//	model, err := agents.Model("opencode")          // its Provider is a brain.Hosted
//	session := model.Provider.(brain.Hosted).Open(brain.Hosting{…})
//
// A session is used by a task as a model is. One prompt may take several streams: each
// ends when the agent asks for something, and the next one brings the answer.
//
// What it guarantees:
//
//   - The program has the box of its person's commands and no more: their folder, what was shared
//     with them, the hosts of its entry. Where there is no box, a person says yes to the start.
//   - What it asks for is a tool call of its task, judged like any other. A yes is a yes to this one
//     call, whatever else it offers to choose.
//   - It cannot speak for another session, nor flood the hub: it is read as fast as its task writes,
//     and a message, a turn and the number of open requests have an upper bound.
//   - Close leaves nothing of it running.
package foreign
