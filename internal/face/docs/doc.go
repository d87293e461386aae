// Package docs shows the pages for users on the hub itself, under /docs: rendered from the
// Markdown that is built in, with a search, and the REST face's description as a page.
//
// Everything is made on the hub: there is no script on these pages, and nothing in them comes
// from anywhere else. They tell nothing about this hub but its version's documentation, so
// they are for everybody.
package docs
