// Package api is the REST face: what the page and scripts use, described by the
// OpenAPI document at /api/openapi.json.
//
// One file per subject. A route is registered with the scope it needs; the
// wrapper has authenticated the caller before the handler runs:
//
//	add(a, route{Method: "GET", Path: "/api/tokens", Scope: identity.DeviceManage, Summary: "List tokens"},
//		func(ctx context.Context, who identity.Actor, _ *struct{}) (*tokenList, error) { … })
//
// Errors of any package become RFC 9457 problem documents with a stable code, by
// the table in package front.
package api
