// Package screen takes a picture of the primary monitor and makes it small
// enough to send.
//
//	seat, ok := screen.Find()      // whose desktop, for a service without one
//	err := screen.Write(w)         // in the helper process, on that desktop
//
// Pictures are taken by a short-lived child process, which [Write] is the body
// of: it runs as the person whose screen it is.
package screen
