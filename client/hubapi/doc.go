// Package hubapi is the Go client of a hub's REST face. What can be asked, and with which
// types, is in package rest; an operation of it is called by [Call], one that answers with a
// file or a stream by [Open] or [Copy].
//
//	c := hubapi.New("http://127.0.0.1:7788", token)
//	list, err := hubapi.Call(ctx, c, rest.ListTokens, rest.None{})
//
// Errors of the hub are *Error values with a stable code.
package hubapi
