// Package kenny is the machine's side of the fleet protocol: it keeps one
// tunnel to a hub open, answers the hub's requests and pushes telemetry and
// logs. It works against any hub that speaks kenny 0.8.
//
//	err := kenny.Enroll(ctx, url, "studio-3", token, public)   // once
//
//	c, err := kenny.New(kenny.Config{
//		URL: url, AgentID: "studio-3", Key: key, ServerKeys: pins,
//		Meta: meta, Handler: handler, Log: log,
//	})
//	err = c.Run(ctx)                                           // until ctx ends
//
// What it guarantees:
//   - The hub proves itself first. Until its signature over our fresh nonce
//     verifies against a pinned key, nothing is signed, sent or dispatched.
//   - Each request runs in its own goroutine; a slow one delays neither the
//     heartbeat nor any other.
//   - A silent hub is left after 90 s. Waits between attempts grow, are random,
//     and start over after a session that held for a minute.
//   - The outbound queue is bounded. Pushes that find it full are refused, not
//     queued; answers wait for room.
//   - Run ends with a clean goodbye within two seconds, then waits for the
//     requests it started; their context is cancelled first.
//
// A request goes on when its connection is lost, because half an installation
// is worse than one nobody hears about; its answer is dropped.
package kenny
