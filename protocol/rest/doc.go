// Package rest is the hub's REST face written once: what can be asked, with which
// request, and what is answered.
//
// An [Operation] names both types. Everything else follows from it: the face decodes
// the request and encodes the answer by it, the OpenAPI document (and from that the
// page's types) describes it, and a Go client calls it:
//
//	made, err := hubapi.Call(ctx, c, rest.CreateToken, rest.TokenRequest{Name: "ci"})
//
// One file per subject, types beside the operations that use them. A request type says
// by its tags where a field travels: `path`, `query` or `header`; a field named Body is
// the body, and a request with none of these is a body as a whole. The other tags
// (`doc`, `maxLength`, `enum` …) are the document's, and the face holds requests to them.
package rest
