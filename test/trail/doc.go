// Package trail_test drives a real hub and looks at what its audit trail holds then: each
// thing that happened once, each refusal too, and no action that the list does not know.
package trail_test
