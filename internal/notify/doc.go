// Package notify tells people who are not looking at the page that something
// needs them: by web push to their browsers, by webhook, by ntfy.
//
//	n, err := notify.Open(ctx, notify.Deps{DB: db, Inbox: inbox, …})
//	err = n.Tell(ctx, notify.Notice{ID: "machine/pc-7/crit/12", Title: "pc-7 is unwell", Path: "/machines/pc-7"})
//
// Every question of the one inbox is told by itself; other parts call Tell.
//
// What it guarantees:
//
//   - A notice is told once per target, however many hubs there are, and is
//     tried again for a while when a target does not answer. A question that was
//     answered meanwhile is not told any more.
//   - Telling never waits for, nor disturbs, whoever asks.
//   - A notice can decide nothing. It carries no credential: approving and
//     rejecting need the person's own, which the browser adds and nobody else has.
//   - Webhooks and ntfy, which others run, are told that something waits and
//     never what is in it. A push message is sealed for the one browser
//     (RFC 8291), so it may show what exactly would run.
//   - A browser's subscription ends with the login it was made in.
package notify
