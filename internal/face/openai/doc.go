// Package openai lets programs that speak OpenAI's wire talk with agents of the hub: chat clients,
// libraries, coding tools. A model's name is an agent's.
//
//	face := openai.New(openai.Deps{Talk: talk, Agents: library, Files: files, Front: front})
//	face.Register(routes)                     // GET /v1/models, POST /v1/chat/completions, POST /v1/responses
//
// A request is a turn of a conversation of package talk, so an agent has its memory, its tools and its
// approvals here as everywhere. What this face adds:
//
//   - Which conversation: by agent, person and the name that the request gives it (conversation,
//     prompt_cache_key, user, X-Chat-Id), else by how it begins. Clients send the whole history each
//     time; it is compared with what is stored, and one that was edited goes on as a conversation
//     of its own (thread.go).
//   - Tools of the client's own: a call of one ends the answer, and the next request brings the
//     result (talk's clienttools.go).
//   - A run that waits for a person says so as thinking and goes on when somebody answered.
//   - System messages are wishes of the person. They are never the agent's own instructions.
package openai
