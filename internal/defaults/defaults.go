// Package defaults fills in what whoever builds a part left open.
package defaults

import "cmp"

// Set gives a limit its usual value unless it has one: a limit of nothing, or less, is none that
// anybody meant.
func Set[T cmp.Ordered](to *T, usual T) {
	var zero T
	if *to <= zero {
		*to = usual
	}
}
