package wake_test

import (
	"testing"

	"parley.internal/internal/wake"
)

func TestRingsWhileNobodyListensAreOne(t *testing.T) {
	bell := wake.New()
	for range 3 {
		bell.Ring() // never waits: the test would hang
	}
	<-bell
	select {
	case <-bell:
		t.Error("the bell woke its listener twice for rings that came before it listened")
	default:
	}
	bell.Ring()
	<-bell
	wake.Bell(nil).Ring()
}
