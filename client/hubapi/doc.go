// Package hubapi is the Go client of a hub's REST face, described by the OpenAPI
// document at /api/openapi.json.
//
//	c := hubapi.New("http://127.0.0.1:7788", token)
//	tokens, err := c.Tokens(ctx)
//
// Errors of the hub are *Error values with a stable code.
package hubapi
