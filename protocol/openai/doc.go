// Package openai is the wire that most programs speak to a model: POST /v1/chat/completions and
// POST /v1/responses, answered whole or as server-sent events. It is pure: bytes in, one form of
// request out, and answers as bytes.
//
//	req, err := openai.DecodeChat(body)       // or DecodeResponses
//	history, now := req.Split()               // what was said, and what is said now
//
// Both requests become one [Request]. What a program calls system, developer or instructions is its
// Brief; nothing of it is among the turns, wherever in the history it stood.
//
// Members that are not known are ignored, as clients of this wire expect. What would change the
// answer and cannot be done (several answers at once, addresses of pictures) is an [*Error].
package openai
