// Package notice tells the person at a machine, on their desktop, that a call waits
// for them, and takes their answer.
//
//	helper := notice.NewHelper(line, log)             // in the endpoint; helper.Show() when a question comes
//	err := notice.Watch(ctx, state, notice.Desktop)   // in the helper, as the desktop's user
//
// What it guarantees:
//
//   - The helper runs as the user of the desktop and answers through the switch's
//     socket like any command of theirs, so that a yes counts only from who may give it.
//   - What is shown has nothing hidden in it and is all of what would run. What is too
//     long to be shown whole can be refused there, and allowed only where it is shown.
//   - A question that was answered elsewhere, or ran out, is taken off the desktop.
package notice
