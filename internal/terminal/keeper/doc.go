// Package keeper lets terminals outlive the hub. A keeper is a small process, our own
// program started again, that holds one pseudo-terminal and the program on it. The hub is
// its client, over a socket in the data folder:
//
//	k, err := keeper.Start(folder, keeper.Orders{Command: "top", …})     // a new one
//	k, err := keeper.Attach(folder)                                      // one that an earlier hub left
//	go k.Read(out)                                                       // output, until the program has ended
//	k.Acknowledge(keeper.Ack{…})                                         // this much is safe
//	k.Close()                                                            // its exit was read: the keeper ends
//	k.Leave()                                                            // the hub ends, the terminal does not
//
//	program ─ PTY ─▶ keeper: what is not acknowledged ─▶ hub: mask, screen, recording
//	                         what was shown, and the hub's notes ◀─ acknowledgements
//
// What it guarantees:
//
//   - Every byte the program prints is given out until it is acknowledged, in order, and
//     not again after. When much waits, the program waits, as on any slow terminal.
//   - An acknowledgement carries what was shown of the bytes and the hub's notes about
//     them, and counts as a whole or not at all: the next hub goes on exactly there.
//   - How the program ended is kept until a hub has read it.
//   - Only the user of the hub can connect, and only with the secret of this one terminal.
//     Nothing in a box can see the socket.
//   - Without a hub for a bounded time, or when its folder has gone, it ends its terminal.
//
// The hub's side works on Linux and macOS; elsewhere [Possible] says why not.
package keeper
