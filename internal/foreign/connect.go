package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/ids"
	"parley.internal/protocol/acp"
)

// beginAnew is the answer that gives an agent a new session in the place of a lost one.
const beginAnew = "Begin anew"

// refused marks a question that was answered with no.
const refused = "refused"

// connect makes sure that the program runs and knows the session. If a person has to be asked
// first, ready is false and the stream has ended with the question.
func (s *session) connect(ctx context.Context, out listener) (ready bool, err error) {
	if s.live {
		return true, nil
	}
	switch {
	case s.restart == refused:
		return false, errors.New("its session is lost, and its person did not want to begin anew")
	case s.start == refused:
		return false, errors.New("there is no box here, and its person did not want it to run without one")
	case !s.o.Sandbox.Boxed() && !s.outside:
		return false, s.askToStart(out)
	}
	if err := s.launch(ctx); err != nil {
		return false, err
	}
	starting, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it was not ready within %s", startTime))
	defer cancel()
	able, err := s.initialize(starting)
	if err != nil {
		return false, err
	}
	if s.saved.ID != "" && !s.fresh {
		lost := s.load(starting, able)
		if lost == nil {
			s.live = true
			return true, nil
		}
		if starting.Err() != nil {
			return false, context.Cause(starting)
		}
		s.drop()
		return false, s.askToBeginAnew(lost, out)
	}
	return true, s.begin(starting)
}

// launch starts the program, unless the session was closed meanwhile.
func (s *session) launch(ctx context.Context) error {
	r, err := s.program.start(ctx, s.h.Call)
	if err != nil {
		return err
	}
	s.lock.Lock()
	closed := s.closed
	if !closed {
		s.run = r
	}
	s.lock.Unlock()
	if closed {
		r.end()
		return errLeft
	}
	return nil
}

// drop ends the program; the next stream starts another.
func (s *session) drop() {
	s.lock.Lock()
	r := s.run
	s.run = nil
	s.lock.Unlock()
	s.live, s.prompt, s.calls = false, "", nil
	clear(s.open)
	if r != nil {
		r.end()
	}
}

func (s *session) initialize(ctx context.Context) (acp.AgentCapabilities, error) {
	req := acp.InitializeRequest{Version: acp.Version, Info: &acp.Implementation{Name: "parley", Title: "Parley", Version: "1"}}
	req.Client.FS.Read = slices.Contains(s.h.Tools, "file_read")
	req.Client.FS.Write = slices.Contains(s.h.Tools, "file_write")
	req.Client.Terminal = slices.Contains(s.h.Tools, "terminal_open")
	res, err := call[acp.InitializeResponse](ctx, s, acp.Initialize, req)
	if err == nil && res.Version != acp.Version {
		err = fmt.Errorf("it speaks version %d of the agent client protocol; %d is needed", res.Version, acp.Version)
	}
	return res.Agent, err
}

func (s *session) begin(ctx context.Context) error {
	res, err := call[acp.SessionResponse](ctx, s, acp.NewSession, acp.SessionRequest{Dir: s.h.Call.Dir, MCPServers: []jsontext.Value{}})
	if e, ok := errors.AsType[*acp.Error](err); ok && e.Code == acp.CodeAuthRequired {
		return fmt.Errorf("it wants you to log in first (%s): give it a key under env in foreign/%s.yaml, or log in where it keeps things: HOME=%s %s",
			e.Message, s.entry.Name, s.h.Call.Workspace, s.entry.Command)
	}
	switch {
	case err != nil:
		return err
	case res.Session == "" || len(res.Session) > 1000:
		return errors.New("it gave its session no name")
	}
	s.saved = saved{ID: res.Session}
	s.live, s.fresh = true, false
	return nil
}

// load has the agent take up its session again. What it tells of it was told before.
func (s *session) load(ctx context.Context, able acp.AgentCapabilities) error {
	if !able.LoadSession {
		return errors.New("it cannot take up a session again")
	}
	_, err := call[acp.SessionResponse](ctx, s, acp.LoadSession, acp.SessionRequest{Session: s.saved.ID, Dir: s.h.Call.Dir, MCPServers: []jsontext.Value{}})
	return err
}

// call makes a request and waits for its answer. Nothing else is served meanwhile.
func call[T any](ctx context.Context, s *session, method string, params any) (res T, err error) {
	id, err := s.run.request(method, params)
	if err != nil {
		return res, errors.New(s.run.why()) // it does not read any more: it has ended
	}
	for {
		m, err := s.next(ctx)
		switch {
		case err != nil:
			return res, err
		case m.Request():
			if err := s.run.answer(m, nil, &acp.Error{Code: acp.CodeInvalidRequest, Message: "there is no prompt"}); err != nil {
				return res, err
			}
		case m.Answer() && string(m.ID) == id && m.Error != nil:
			return res, m.Error
		case m.Answer() && string(m.ID) == id:
			return acp.Read[T](m.Result)
		}
	}
}

// askToStart asks whether the program may run with the hub's own rights.
func (s *session) askToStart(out listener) error {
	args, err := json.Marshal(map[string]any{"command": s.entry.Command, "args": s.entry.Args, "folder": s.h.Call.Dir})
	if err != nil {
		return err
	}
	s.start = ids.New()
	s.calls = append(s.calls, model.Call{ID: s.start, Name: toolStart, Arguments: string(args)})
	return s.ask(out)
}

// askToBeginAnew says that the session is lost, and waits for what its person wants.
func (s *session) askToBeginAnew(lost error, out listener) error {
	type option struct {
		Label string `json:"label"`
	}
	args, err := json.Marshal(map[string]any{"questions": []map[string]any{{
		"header": s.entry.Name, "options": []option{{beginAnew}, {"End the task"}},
		"question": fmt.Sprintf("The program of %s was restarted and its session is lost: %s. Begin anew, with what you have said so far and without what it remembers?", s.entry.Name, lost),
	}}})
	if err != nil {
		return err
	}
	s.restart = ids.New()
	s.calls = append(s.calls, model.Call{ID: s.restart, Name: "ask_user", Arguments: string(args)})
	return s.ask(out)
}

// cancel tells the agent that nobody waits for its answer any more.
func (s *session) cancel() {
	if s.run != nil && s.prompt != "" {
		_ = s.run.notify(acp.Cancel, acp.CancelNotification{Session: s.saved.ID}) // if it does not read any more, it has ended
	}
}

// stopPrompt ends the prompt that runs, so that another can be sent. An agent that does not stop is
// started again.
func (s *session) stopPrompt(ctx context.Context) {
	s.cancel()
	waiting, done := context.WithTimeout(ctx, cancelTime)
	defer done()
	for id, r := range s.open {
		delete(s.open, id)
		s.settle(r, &model.Message{IsError: true, Text: `{"ok":false,"error":{"type":"cancelled","message":"cancelled"}}`})
	}
	s.calls = nil
	for s.prompt != "" {
		m, err := s.next(waiting)
		switch {
		case err != nil:
			s.drop()
		case m.Request():
			s.refuseCancelled(m)
		case m.Answer() && string(m.ID) == s.prompt:
			s.prompt = ""
		}
	}
}

// refuseCancelled answers a request that came while its prompt is being cancelled.
func (s *session) refuseCancelled(m acp.Message) {
	var failed error
	if m.Method != acp.RequestPermission {
		failed = &acp.Error{Code: acp.CodeInvalidRequest, Message: "the prompt was cancelled"}
	}
	_ = s.run.answer(m, acp.PermissionResponse{Outcome: acp.Outcome{Outcome: acp.OutcomeCancelled}}, failed) // if it does not read any more, it has ended
}
