package proc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanEnvDropsSecrets(t *testing.T) {
	in := []string{
		"PATH=/bin", "PARLEY_TOKEN=x", "parley_x=x", "ANTHROPIC_API_KEY=x", "gh_token=x", "A_SECRET=x", "B_PASSWORD=x",
		"C_CREDENTIALS=x", "KEYBOARD=us", "TOKENS=3", "ODD", "=C:=C:\\",
	}
	if d := cmp.Diff([]string{"PATH=/bin", "KEYBOARD=us", "TOKENS=3", "ODD", "=C:=C:\\"}, CleanEnv(in)); d != "" {
		t.Error(d)
	}
}
