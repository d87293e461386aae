// Package metrics is everything a hub counts, for whoever watches it: requests, and what
// the parts tell when somebody looks. Nothing names a person, an agent or a machine.
package metrics
