package workspace_test

import (
	"testing"

	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "workspace.") }
