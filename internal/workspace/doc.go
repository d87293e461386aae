// Package workspace knows which folder whose agents work in. It is the only place
// that does: tasks, conversations, terminals, tool servers and the box ask here.
//
//	spaces := workspace.New(workspace.Options{Data: data, Owner: owner.ID})
//	dir := spaces.Dir(workspace.Person(id), agent.Workspace)     // made if it is new
//
//	<data>/workspace/                    the hub's owner's, where it has always been
//	<data>/workspaces/person-<id>/       everybody else's
//	<data>/workspaces/sender-<hash>/     of senders that are nobody here: channel users
//
//	grants := &workspace.Grants{DB: db, Spaces: spaces, People: people, …}
//	grants.Give(ctx, alice, "bob", "garden", readOnly, until)    // bob's agents may use alice's garden
//	folders, err := grants.For(ctx, bob)                         // at every call
//
// What it guarantees:
//
//   - No two people have the same folder, and no folder lies in another's.
//   - A folder is a real one, never a link that somebody put in its place.
//   - A folder that an agent's file names is used by whoever may use the agent, so it
//     is never the hub's own nor lies in the folder of somebody else.
//   - A grant reaches one folder and no further, whatever links somebody puts there, and
//     ends at its time, with the right it was made with, or when it is taken back.
package workspace
