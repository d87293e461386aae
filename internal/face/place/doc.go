// Package place is where agents reach the meeting place: HTTP under /place/v1, the
// direct endpoints of hosted agents under /meeting/v1, and /health.
//
//	face := place.New(place.Deps{Place: domain, Meeting: agents, Front: front})
//	for _, path := range face.Paths() { mux.Handle(path, face) }
//
//	request ─▶ route (table.go) ─▶ who (token) ─▶ limits ─▶ body ─▶ decode (mmp) ─▶ place.API
//
// The table is everything that can be asked: method, path, body limit, and which
// generation of clients knows the route, since they read errors differently.
//
// What it guarantees:
//
//   - Every answer is JSON in the protocol's words, also for unknown paths, wrong
//     methods, oversized bodies and panics.
//   - A token that is sent is always checked, even where none is needed.
//   - Nothing of a body that is refused has been stored.
package place
