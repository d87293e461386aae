package board

import (
	"strings"
	"testing"
	"time"
)

func TestAnonymousIDsAreStableUnderOneSalt(t *testing.T) {
	a, b := Anonymize([]byte("salt"), "ada"), Anonymize([]byte("other"), "ada")
	if a != Anonymize([]byte("salt"), "ada") || a == b || a == Anonymize([]byte("salt"), "bob") || !strings.HasPrefix(a, "anon_") || len(a) != 17 {
		t.Errorf("%s %s", a, b)
	}
}

func TestHourKeys(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("x", 3600))
	got := HourKeys(now, 3)
	if strings.Join(got, ",") != "2026-02-28 21:00,2026-02-28 22:00,2026-02-28 23:00" || len(HourKeys(now, 0)) != 0 {
		t.Error(got)
	}
}
