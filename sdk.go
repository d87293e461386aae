// Package parley carries the sources of the SDKs inside the program, so that every
// hub hands out the ones that fit it. Nothing is built or fetched for that: what Go
// compiles into the hub is what it serves.
//
//	handler := sdk.NewPackages(parley.SDK, version, carried)
//
// Whoever adds a package below client/ or protocol/ deeper than these patterns, or a
// file that one of them embeds, adds it here; a test builds the module as an outsider
// would and fails when something is missing.
package parley

import "embed"

// SDK holds client/ and protocol/ (their tests too: a pattern cannot leave them out;
// whoever makes the module does), and the Python SDK.
//
//go:embed LICENSE client/*/*.go protocol/*/*.go protocol/*/*/*.go protocol/kenny/policy/catalogue
//go:embed sdk/python/README.md all:sdk/python/parley_rooms
var SDK embed.FS

// Docs holds the pages for users, for face/docs; their pictures stay outside.
//
//go:embed docs/*.md docs/protocols/*.md docs/decisions/*.md
var Docs embed.FS
