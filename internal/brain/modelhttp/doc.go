// Package modelhttp is what the HTTP providers (anthropic, openai) share: a
// client that connects within a limit and follows no redirect, a watchdog over
// silent streams, the translation of failures into [model.Error], and the
// repair of histories a provider would refuse.
//
//	w := modelhttp.Watch(ctx, first, between)
//	defer w.Stop()
//	resp, err := do(w.Context())
//	if err != nil { return modelhttp.Fail("openai", ctx, w, err) }
//
// Nothing here ever puts a key or a request into an error or a log line.
package modelhttp
