// Package terminal runs processes on real pseudo-terminals and shows them to
// any number of viewers: people at boards, and agents through their tools.
//
//	terminals, err := terminal.New(terminal.Deps{Bus: bus, Leases: leases, Workspace: spaces.Dir})
//	info, err := terminals.Create(ctx, who, terminal.Spec{Command: "top"})
//	view, err := terminals.Attach(ctx, who, info.ID, terminal.AttachOptions{Writer: true})
//	for {
//		event, err := view.Next(ctx)     // attached, scrollback, live output, sizes, exit; then io.EOF
//		…
//	}
//	err = terminals.Input(ctx, who, info.ID, []byte("q"))
//
//	PTY ─▶ reader ─▶ mask ─▶ scrollback ◀── views, each with its own cursor
//	PTY ◀─ writer ◀─ mailbox ◀── input, sizes, close
//
// One terminal is one goroutine that owns its state. Views pull: a viewer that
// is slow is moved forward in the scrollback and told so, and holds up nobody.
//
// What it guarantees:
//
//   - A viewer sees the scrollback and then what is printed, no byte twice and
//     none left out, unless a frame says that output was passed over. Frames are
//     valid UTF-8 whatever way the bytes were cut up; the exit comes after the last
//     output.
//   - A configured secret is never shown, also when the process prints it in
//     pieces. A process does not inherit the hub's secrets, and an agent's runs in a box
//     ([sandbox]); agents reach no other terminals.
//   - Another person's terminal looks exactly like one that does not exist.
//   - A terminal stays on its machine. With a keeper ([Keep]) it outlives its hub, and
//     the next one there goes on with it, no byte twice and none left out, on screens and
//     in recordings; else it ends with the hub. Other hubs of a cluster reach it over the
//     bus, with the same calls.
//   - Who opened, watched, typed into and closed a terminal is in the audit trail;
//     what was typed or printed is not.
package terminal
