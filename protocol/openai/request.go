package openai

import "encoding/json"

// Bounds of one request, beside the size of its body.
const (
	MaxTurns = 20_000
	MaxFiles = 64
)

// Role is who speaks in a turn.
type Role string

// The roles of turns.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Request is what either kind of request asks for.
type Request struct {
	Model  string
	Stream bool
	// IncludeUsage asks for what was used at the end of a stream.
	IncludeUsage bool
	// Thread is what the request calls its conversation; Previous is the answer that it follows.
	Thread   string
	Previous string
	// Brief is what the program wants the agent to know: system and developer messages,
	// instructions, the wanted form of the answer.
	Brief string
	Turns []Turn
	Tools []Function
}

// Turn is one entry of the history.
type Turn struct {
	Role  Role
	Text  string
	Files []File
	// Calls are those of an assistant; CallID names the one a tool's turn answers.
	Calls  []Call
	CallID string
}

// File is what came along as data.
type File struct {
	Name string
	Data []byte
}

// Call is one call of a tool of the client's.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Function is a tool that the client runs.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Now is what a request says beyond its history: results of the client's tools, then words.
type Now struct {
	Results []Turn
	Words   []Turn
}

// Split parts the history from what is said now: everything behind the last words of the assistant.
func (r *Request) Split() (history []Turn, now Now) {
	at := len(r.Turns)
	for at > 0 && r.Turns[at-1].Role != Assistant {
		at--
	}
	return r.Turns[:at], split(r.Turns[at:])
}

func split(turns []Turn) (now Now) {
	for _, t := range turns {
		if t.Role == Tool {
			now.Results = append(now.Results, t)
		} else {
			now.Words = append(now.Words, t)
		}
	}
	return now
}
