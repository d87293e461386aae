package hub_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/hub/config"
	"parley.internal/protocol/mmp/meeting"
)

// TestTheFrontAgentAndTheFormOfHashesAreSettings drives the direct endpoints of a
// hub whose owner chose another front agent and prefixed hashes.
func TestTheFrontAgentAndTheFormOfHashesAreSettings(t *testing.T) {
	const tea = "---\nname: tea\ndescription: How to make tea\npublic: true\n---\n# Tea\n"
	r := newRig(t, func(c *config.Config) {
		c.Place.FrontAgent, c.Place.HashForm = "ada", "prefixed"
		for name, text := range map[string]string{
			"agents/ada.md": "---\ndescription: Ada\nplace: true\nskills: [\"*\"]\n---\nYou are Ada.\n", "skills/tea.md": tea,
		} {
			path := filepath.Join(c.Data, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	var in meeting.Introduction
	got := r.do(ask{method: "GET", path: "/meeting/v1/introduce"})
	if err := json.Unmarshal(got.body, &in); err != nil || got.status != 200 {
		t.Fatalf("%d %s; want no error, got.status to be 200", got.status, got.body)
	}
	var identity struct{ Name string }
	if err := json.Unmarshal(in.Identity, &identity); err != nil || identity.Name != "ada" {
		t.Errorf("the front agent is %s", in.Identity)
	}
	var list meeting.SkillsAnswer
	got = r.do(ask{method: "GET", path: "/meeting/v1/skills"})
	if err := json.Unmarshal(got.body, &list); err != nil || len(list.Skills) != 1 || !strings.HasPrefix(list.Skills[0].ContentHash, "sha256:") {
		t.Errorf("%d %s; want no error, len(list.Skills) to be 1, strings.HasPrefix(list.Skills[0].ContentHash, \"sha256:\")", got.status, got.body)
	}
}
