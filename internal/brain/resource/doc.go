// Package resource keeps what a hub lends its agents beside models: MCP servers
// and skills, and which of them are switched on.
//
//	shelf, err := resource.Open(resource.Options{Dir: data, Pool: pool, Configured: fromSettings})
//	shelf.MCPs()                              // with their state, secrets masked
//	err = shelf.SetMCPs(list)                 // replaces those that were added here
//	err = shelf.EnableSkill("release", false)
//	shelf.Usable()                            // the skills agents may load
//
// Servers come from the hub's settings, which only the settings change, and from
// resources.yaml in the data folder (0600: it holds secrets), which SetMCPs
// writes. A change is on disk before it counts. Skills are read from the skills
// folder: at once for people, and for agents again when it was not looked at for
// a moment, so that a new file counts for them within two seconds.
package resource
