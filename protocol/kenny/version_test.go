package kenny

import "testing"

func TestVersionsCompareAsVersions(t *testing.T) {
	// Each is newer than the one before it.
	order := []string{
		"dev", "0.8", "0.10", "v1.9", "v1.10.0-alpha", "1.10.0-alpha.1", "1.10.0-alpha.beta", "1.10.0-beta.2", "1.10.0-beta.11", "1.10.0-rc.1",
		"1.10", "1.10.0-5-gabcdef1", "1.10.0-12-g0123456", "1.10.1", "V2", "2.0.1+linux", "99999999999999999999.0",
	}
	for i, a := range order {
		for k, b := range order {
			got, want := CompareVersions(a, b), 0
			if i < k {
				want = -1
			} else if i > k {
				want = 1
			}
			if got != want {
				t.Errorf("%s compared with %s is %d, not %d", a, b, got, want)
			}
		}
	}
	for _, same := range [][2]string{{"1.2", "v1.2.0"}, {"1.2.3+a", "1.2.3+b"}, {"dev", ""}, {"0.8", "0.08"}} {
		if CompareVersions(same[0], same[1]) != 0 {
			t.Errorf("%s and %s are the same version", same[0], same[1])
		}
	}
}

func FuzzCompareVersions(f *testing.F) {
	f.Add("v1.10.0-rc.1+x", "1.10.0-5-gabcdef")
	f.Fuzz(func(t *testing.T, a, b string) {
		if CompareVersions(a, b) != -CompareVersions(b, a) || CompareVersions(a, a) != 0 {
			t.Errorf("%q and %q are in no order", a, b)
		}
	})
}
