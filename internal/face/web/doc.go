// Package web serves the hub's page: the files that Vite built, and nothing
// computed.
//
//	page, _ := parleyweb.Page()
//	mux.Handle("/", web.Handler(page, web.Options{}))
//
// It guarantees:
//
//   - Every answer carries the page's security headers. The content security
//     policy allows scripts and styles from the hub only, none of them inline,
//     and no request to anybody else.
//   - A client-side route (/, /inbox, /r/{room} …) answers with the page; an
//     unknown file answers 404, never the page.
//   - Files named by the hash of their content are cached for ever; all others
//     are asked for again and answered 304 when they are the same.
//   - Text is compressed once, on its first use, not on every request.
//   - A binary built without the page says so in a readable way.
package web
