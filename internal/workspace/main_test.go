package workspace_test

import (
	"testing"

	"parley/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "workspace.") }
