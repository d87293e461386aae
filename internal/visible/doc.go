// Package visible writes out what a person would not see: control characters,
// marks that turn the direction of writing, characters without width, and
// everything else that is drawn as nothing or as a blank that is none.
//
//	visible.Text("rm -rf /\u202e")   // rm -rf /⟨U+202E⟩
//	visible.Line("two\nlines")       // two⟨U+000A⟩lines
//
// Whatever a person decides by goes through it: the command line, questions in an
// MCP client, push messages, webhooks, the texts of skills. The page has its twin
// in web/src/lib/visible.ts; both are held to web/src/lib/testdata/visible.json.
//
// It is for showing only. What runs is never changed.
//
// A few invisible characters belong to one drawn sign and stay as they are: one
// variation selector behind a pictograph, a joiner inside an emoji or between two
// letters of a script that joins them, a no-break space where typography wants it.
package visible
