// Package api is the REST face: what the page and scripts use, described by the
// OpenAPI document at /api/openapi.json.
//
// One file per subject. An operation of package rest is registered with the scope it
// needs; the caller is authenticated before the handler runs:
//
//	add(a, access{Scope: identity.DeviceManage, Tag: "people"}, rest.ListTokens,
//		func(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Tokens, error) { … })
//
// Three ways to serve one: add leaves reading, checking and writing to the library;
// addWire speaks the JSON of a protocol, with that protocol's refusals; addRaw writes
// the answer itself, for files and live streams. All three are described alike.
//
// Errors of any package become RFC 9457 problem documents with a stable code, by
// the table in package front.
package api
