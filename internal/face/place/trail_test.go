package place_test

import (
	"testing"

	"parley.internal/internal/audit"
)

// What an operator decides about keys stands in the hub's trail.
func TestTrustIsInTheTrail(t *testing.T) {
	w := newWorld(t)
	w.prove(keyNo(0), "ada")
	trusted, err := w.place.Trust(t.Context(), operator, "ada", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.place.Untrust(t.Context(), operator, trusted.KeyID); err != nil {
		t.Fatal(err)
	}
	for _, action := range []audit.Action{audit.PlaceTrusted, audit.PlaceUntrusted} {
		if !w.trail.has(action) {
			t.Errorf("%s is not in the trail", action)
		}
	}
}
