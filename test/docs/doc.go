// Package docs checks that what docs/ says is what the program does: every setting, every metric and every scope
// is documented, and nothing that is gone still is; and that the page has a word for every action of the audit trail.
package docs
