// Package front is what every HTTP face of the hub shares: the routes with their
// declared limits, request ids, the access log, recovery from panics, the check of
// Host and Origin, who the caller is, and errors in one form.
//
//	f := front.New(front.Deps{People: directory, Guard: guard, Logger: logger})
//	routes := front.NewRoutes(f)
//	routes.Handle(front.Route{Pattern: "GET /metrics", Who: front.Who(identity.StatusRead)}, handler)
//	server.Handler = f.Wrap(routes)
//	who, err := f.Session(r)          // bearer token, or the page's cookie with its CSRF token
//	f.Fail(w, r, err)                 // an RFC 9457 problem document
//
// It never puts a secret into a log line: not the Authorization header, not a
// cookie, not a query string.
package front
