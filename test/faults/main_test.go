package faults_test

import (
	"testing"

	"parley/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }
