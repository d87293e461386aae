// Package modelhttp is what the HTTP providers (anthropic, openai) share: one
// attempt at a call from the request to the last event, a client that connects
// within a limit and follows no redirect, a watchdog over silent streams, the
// translation of failures into [model.Error], and the repair of histories a
// provider would refuse. A provider keeps only its server's words.
//
//	return modelhttp.Attempt{Provider: "openai", Key: key, Send: send, Answer: read}.Stream(ctx)
//
// Nothing here ever puts a key or a request into an error or a log line.
package modelhttp
