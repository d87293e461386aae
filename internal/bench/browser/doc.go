// Package browser is a headless Chromium that loads a page and tells what came over the
// network and when the page could be used.
package browser
