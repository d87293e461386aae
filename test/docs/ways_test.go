package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTheWaysOfMessagesPassFilesThatExist holds the walks of docs/architecture.md to the
// tree: a file that moved or went takes its sentence along.
func TestTheWaysOfMessagesPassFilesThatExist(t *testing.T) {
	named := regexp.MustCompile("`([a-z0-9_/]+\\.go)`").FindAllStringSubmatch(section(t, page(t, "architecture.md"), "ways"), -1)
	if len(named) < 30 {
		t.Fatalf("the ways of messages name %d files; each kind has its own walk", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat(filepath.Join(top, "internal", m[1])); err != nil {
			t.Errorf("docs/architecture.md sends a message through internal/%s, which does not exist", m[1])
		}
	}
}
