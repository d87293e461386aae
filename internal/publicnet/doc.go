// Package publicnet connects to the public internet and to nothing else, for
// addresses that came from outside: a model's web page, a browser's push service,
// a place an agent visits, a room's key server, a webhook. Names are resolved first
// and the very address that was checked is the one connected to, at every attempt,
// so a name that changes its mind gains nothing.
//
//	guard := publicnet.Guard{Allow: settings}   // networks inside that the operator listed
//	client := guard.Client(30 * time.Second)    // follows no redirect, asks no proxy
//
// What is refused is refused with ErrNotPublic.
package publicnet
