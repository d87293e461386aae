// Package docs checks that what docs/ says is what the program does: every setting, every metric and every scope
// is documented, and nothing that is gone still is; that the page has a
// word for every action of the audit trail; and that the README's first quarter of an hour shows what it says.
package docs
