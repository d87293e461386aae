// Package web carries the page of the hub: a Svelte application in src/,
// built by Vite into dist/ and embedded from there, so that the binary needs
// no files beside it.
//
//	page, built := web.Page()
//	handler := faceweb.Handler(page, faceweb.Options{})
//
// `npm ci && npm run build` in this folder fills dist/. Without it dist/ holds
// only a marker, Go still builds, and built is false.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Page returns the built page's files, with index.html at the root, and
// whether the page was built into this binary.
func Page() (files fs.FS, built bool) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		// "dist" is a constant and a valid path, so Sub cannot refuse it.
		panic(err)
	}
	_, err = fs.Stat(files, "index.html")
	return files, err == nil
}
