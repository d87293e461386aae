// Package logs keeps an endpoint's log: fully in a local file per day, and the
// important part in a small ring from which it is forwarded to the hub.
//
//	file := logs.OpenFile(folder)
//	ring := logs.NewRing()
//	log := slog.New(logs.Tee(file.Handler(slog.LevelDebug), ring.Handler(slog.LevelInfo)))
//	go logs.Forward(ctx, ring, tunnel)
//
// Forwarding is best effort: while there is no tunnel, the oldest records make
// room for newer ones and are counted; nothing is sent twice. What the
// forwarder itself has to say goes to the file only.
package logs
