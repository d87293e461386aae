// Package elsewhere reads conversations that other programs keep or export, so that
// people can take them along: the exports of ChatGPT and Claude, the histories of Claude
// Code and OpenClaw, and the session files of the agent-first protocol, which are ours.
//
//	for conversation, err := range elsewhere.Read(file) {
//		…
//		err = conversation.Write(w, "parley", "user") // as the JSON lines that a hub imports
//	}
//
// Only what people and models said is taken: no tool output, no thinking, no system
// texts. What cannot be used is skipped and counted. Files of others are untrusted:
// reading one costs no more memory than its largest conversation, which is bounded.
package elsewhere
