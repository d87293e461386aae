// Package hosts keeps the agents of a hub at meeting places: at its own for as long as
// the hub runs, at others for a visit.
//
// A visit is a row of the skill package's and outlives every hub: whichever hub has its
// lease runs it, looks whether the place is still the one it was before anything is
// sent, and brings the agent home when the visit is over.
package hosts
