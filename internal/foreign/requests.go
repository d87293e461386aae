package foreign

import (
	"encoding/json"
	"strings"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/ids"
	"parley.internal/protocol/acp"
)

// request is something the agent asked for and waits for.
type request struct {
	message acp.Message
	options []acp.Option    // of a permission request
	read    acp.ReadRequest // of a file
	content strings.Builder // what of the file was read so far
}

// maxRead bounds a file that is read for an agent: it goes into one message.
const maxRead = acp.MaxMessage / 4

// serve does what the agent asks for, or asks the task for it.
func (s *session) serve(m acp.Message) error {
	r := &request{message: m}
	name, args, err := s.wanted(r)
	switch {
	case err != nil:
		return s.run.answer(m, nil, err)
	case name == "":
		return nil // it is answered beside
	case len(s.open) >= maxOpen:
		return s.run.answer(m, nil, &acp.Error{Code: acp.CodeInvalidRequest, Message: "too many requests at once"})
	}
	return s.want(r, name, args)
}

// want asks the task for a call, whose result will answer the request.
func (s *session) want(r *request, name string, args any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	id := ids.New()
	s.open[id] = r
	s.calls = append(s.calls, model.Call{ID: id, Name: name, Arguments: string(raw)})
	return nil
}

// wanted is the tool call that a request stands for. None, if the request needs no call.
func (s *session) wanted(r *request) (name string, args any, err error) {
	m := r.message
	whose, err := acp.Read[acp.TerminalRef](m.Params) // every request names its session
	if err != nil {
		return "", nil, err
	}
	if whose.Session != s.saved.ID {
		return "", nil, &acp.Error{Code: acp.CodeInvalidParams, Message: "this is not your session"}
	}
	switch m.Method {
	case acp.RequestPermission:
		return s.permission(r)
	case acp.ReadTextFile:
		r.read, err = acp.Read[acp.ReadRequest](m.Params)
		return "file_read", map[string]any{"path": r.read.Path}, err
	case acp.WriteTextFile:
		w, err := acp.Read[acp.WriteRequest](m.Params)
		return "file_write", map[string]any{"path": w.Path, "content": w.Content}, err
	case acp.CreateTerminal:
		t, err := acp.Read[acp.CreateTerminalRequest](m.Params)
		return "terminal_open", map[string]any{"command": commandLine(t), "cwd": t.Dir, "name": s.entry.Name}, err
	case acp.TerminalOutput, acp.WaitForExit, acp.KillTerminal, acp.ReleaseTerminal:
		return "", nil, s.serveTerminal(m, whose.Terminal)
	}
	return "", nil, &acp.Error{Code: acp.CodeUnknownMethod, Message: "there is no method " + m.Method}
}

// result is what a tool call came to, as tasks write it.
type result struct {
	OK     bool `json:"ok"`
	Output struct {
		Content   string `json:"content"`
		Truncated bool   `json:"truncated"`
		Next      int64  `json:"next_offset"`
		Terminal  string `json:"terminal_id"`
	} `json:"output"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// settle answers a request with the result of its call. If the agent does not read any more,
// what it says next tells.
func (s *session) settle(r *request, m *model.Message) {
	var res result
	if err := json.Unmarshal([]byte(m.Text), &res); err != nil || m.IsError {
		res.OK = false
	}
	if r.message.Method == acp.RequestPermission {
		_ = s.run.answer(r.message, acp.PermissionResponse{Outcome: choose(r.options, res)}, nil)
		return
	}
	if !res.OK {
		_ = s.run.answer(r.message, nil, refusal(res))
		return
	}
	switch r.message.Method {
	case acp.ReadTextFile:
		s.readOn(r, res)
	case acp.CreateTerminal:
		_ = s.run.answer(r.message, acp.TerminalRef{Terminal: res.Output.Terminal}, nil)
	default:
		_ = s.run.answer(r.message, struct{}{}, nil)
	}
}

// refusal is a call that failed as the agent hears of it.
func refusal(res result) *acp.Error {
	e := &acp.Error{Code: acp.CodeInternal, Message: res.Error.Message}
	if res.Error.Type == "not_found" {
		e.Code = acp.CodeNotFound
	}
	if e.Message == "" {
		e.Message = "this is not possible"
	}
	return e
}

// readOn takes in a piece of a file, and asks for the next.
func (s *session) readOn(r *request, res result) {
	r.content.WriteString(res.Output.Content)
	switch {
	case r.content.Len() > maxRead:
		_ = s.run.answer(r.message, nil, &acp.Error{Code: acp.CodeInternal, Message: "the file is too large to be read in one piece"})
	case res.Output.Truncated && res.Output.Next > 0:
		_ = s.want(r, "file_read", map[string]any{"path": r.read.Path, "offset": res.Output.Next}) // two values: cannot fail
	default:
		_ = s.run.answer(r.message, acp.ReadResponse{Content: lines(r.content.String(), r.read.Line, r.read.Limit)}, nil)
	}
}

// lines are some of a text's lines, from a first one (from 1) on; no limit is all of them.
func lines(text string, first, limit int64) string {
	for ; first > 1 && text != ""; first-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	if limit <= 0 {
		return text
	}
	end := 0
	for ; limit > 0 && end < len(text); limit-- {
		at := strings.IndexByte(text[end:], '\n')
		if at < 0 {
			return text
		}
		end += at + 1
	}
	return text[:end]
}

// commandLine is a command with its arguments and variables as a shell reads it.
func commandLine(t acp.CreateTerminalRequest) string {
	var words []string
	for _, v := range t.Env {
		words = append(words, quoted(v.Name+"="+v.Value))
	}
	if len(words) > 0 {
		words = append([]string{"env"}, words...)
	}
	if len(t.Args) == 0 {
		return strings.Join(append(words, t.Command), " ") // it may be a line of its own
	}
	words = append(words, quoted(t.Command))
	for _, arg := range t.Args {
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
