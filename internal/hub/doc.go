// Package hub is the composition root: it builds every part of Parley from its
// settings, owns the listeners, and starts and stops everything in order.
//
//	h, err := hub.Open(ctx, config, hub.Options{Logger: logger})
//	err = h.Run(ctx)      // serves until ctx ends, then drains
//
// Start order: data folder, keys, store, bus, membership (leases), audit,
// identity, approvals, the brain, the domains, the faces, the listeners.
// Stopping goes the other way round: first nobody new is let in and /readyz says
// so, then connections are told to leave, what runs gets its time, and last the
// store is closed. Whatever was acknowledged is on disk at every moment, so
// killing the process instead loses nothing either.
//
// The package holds no logic of its own. If something here needs a decision, it
// belongs into the part it is about.
package hub
