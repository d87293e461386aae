// Package archtest checks what no compiler and no linter sees: that every package
// introduces itself, that files stay readable, that the tree stands alone, and
// that docs/conformance tells the truth.
//
// A conformance page, docs/conformance/PART.md, says which items a part must fulfil
// and names the tests that show it:
//
//	Items: 1-12, A, B
//
//	| item | what              | tests                                        |
//	| ---- | ----------------- | -------------------------------------------- |
//	| 1    | hello comes first | `internal/talk.TestHelloComesFirst`          |
//	| 2-3  | it greets         | `test/browser/page.mjs: the page greets`     |
//
// [ParsePage] reads one, [Page.Problems] lists every item without a test, every row
// about an unknown item and every test that is not there.
package archtest
