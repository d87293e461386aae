// Package anthropic is the model provider for Anthropic's Messages API, on the
// official SDK.
//
//	p, err := anthropic.New(anthropic.Options{Key: key})
//	for ev, err := range p.Stream(ctx, req) { … }
//
// It makes one attempt per Stream (the SDK's retries are off) and always
// streams. Injected texts become leading blocks of the latest user message;
// neighbouring messages of one side become blocks of one message. Up to four
// cache marks are set: tools, system, the last stored turn, the newest message.
//
// A model's reasoning goes back to it with its signature, which the API demands
// within a tool round. An answer may hold several signed pieces of reasoning;
// they travel inside [model.Event.Signature], which is opaque to everyone else.
package anthropic
