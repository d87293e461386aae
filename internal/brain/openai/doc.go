// Package openai is the model provider for OpenAI's chat completions and every
// server that speaks them (Ollama, vLLM, llama.cpp, gateways), on the official
// SDK.
//
//	p, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//	for ev, err := range p.Stream(ctx, req) { … }
//
// It makes one attempt per Stream (the SDK's retries are off), always streams
// and asks for usage, which it takes from whichever chunk carries it. Compatible
// servers differ in detail, so reading is lenient: a missing [DONE], calls that
// all claim index 0, repeated names, reasoning under several names and absent
// call ids are understood; what makes no sense is an error that says so.
package openai
