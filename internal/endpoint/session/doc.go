// Package session starts programs on the desktop of the person at a Windows
// machine, from a service that has no desktop of its own.
//
//	status, err := session.Run(ctx, []string{exe, "endpoint", "capture"}, &out)
//
// The program runs as that person, with that person's rights; its output comes
// back through an inherited pipe that nobody else can open. Elsewhere than on
// Windows the package is empty: there a service can simply become the user.
package session
