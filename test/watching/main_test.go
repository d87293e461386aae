package watching_test

import (
	"testing"

	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }
